"""SUBJECT, TOOL and its arguments on the command line (contract, product.md); R2, R5."""

import json
from typing import Annotated

import typer

from remit.admin.subjects import SPELLINGS, Found
from remit.app.installation import Installation
from remit.app.subjects import subjects_of
from remit.cli.lines import say
from remit.cli.output import EXIT_USAGE, fail
from remit.errors import BadCall, NotFound, Refused
from remit.model.principals import Principal, PrincipalKind

SubjectFlag = Annotated[
    str, typer.Option("--as", metavar="SUBJECT", help=f"The caller: {SPELLINGS}.")
]

ToolArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOOL", help="git/git_commit, or another spelling such as git__git_commit."
    ),
]


def check_arguments(text: str) -> None:
    """Leave with status 2 unless *text*, as --args gave it, is a JSON object."""
    try:
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        fail("--args must be a JSON object, such as '{\"max_count\": 3}'", EXIT_USAGE)


async def find_subject(installation: Installation, text: str) -> Principal:
    """Return the principal that *text* means; leave with status 2 when it means none.

    Raises:
        Refused: It may not come in: a disabled user, or a key that has ended.
    """
    found = await find_any_subject(installation, text)
    if found.barred:
        raise Refused(found.barred)
    return found.principal


async def find_any_subject(installation: Installation, text: str) -> Found:
    """Return the same for one that may not come in, with the reason."""
    try:
        found = await subjects_of(installation).find_any(text)
    except (BadCall, NotFound) as wrong:
        fail(str(wrong), EXIT_USAGE)
    if found.principal.kind is PrincipalKind.USER and not found.barred:
        say(
            f"note: {found.principal.subject} stands here without the claims of a token, so it has"
            " no roles and no groups; grants to the user itself count",
            err=True,
        )
    return found
