"""`remit inbox`: what agents have to say to the human, and the answers."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from remit.app.installation import Installation, open_installation
from remit.calls.ids import new_id
from remit.cli.changes import making, operator
from remit.cli.lines import print_json, say, say_text
from remit.cli.output import (
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    fail,
    print_entries,
    run,
)
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.client import inbox
from remit.client.operations import PAGE
from remit.crew.human import HumanInbox
from remit.identity.clock import utc_now
from remit.model.crew import Mail
from remit.settings import Settings
from remit.storage.crew import Crew
from remit.storage.notices import Notices

inbox_app = typer.Typer(
    help="Read and answer what agents write to the human.", invoke_without_command=True
)

AllFlag = Annotated[bool, typer.Option("--all", help="Show what was read, too.")]
LimitFlag = Annotated[int, typer.Option("--limit", min=1, help="Most mails.")]
MailArgument = Annotated[str, typer.Argument(metavar="MAIL", help="The id of the mail.")]

Shown = Mapping[str, Any]

_COLUMNS = ("id", "created", "sender", "read", "subject")

MOST_LISTED = 100
"""Mails that are listed unless --limit says otherwise."""


@inbox_app.callback()
def inbox_alone(
    context: typer.Context,
    *,
    every: AllFlag = False,
    limit: LimitFlag = MOST_LISTED,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the mail to the human, as `remit inbox list` does (contract, product.md)."""
    command = context.invoked_subcommand
    if command is None:
        list_inbox(
            every=every,
            limit=limit,
            config=config,
            tenant=tenant,
            url=url,
            key=key,
            as_json=as_json,
        )
    elif every or as_json or limit != MOST_LISTED or config or tenant or url or key:
        fail(f"options of `remit inbox {command}` stand behind {command!r}", EXIT_USAGE)


@inbox_app.command("list")
def list_inbox(
    *,
    every: AllFlag = False,
    limit: LimitFlag = MOST_LISTED,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the mail to the human, newest first: what is not read yet, or all."""
    if (remote := reach(url, key, tenant)) is not None:
        # one more than is shown tells whether there is more, however large they are
        asked = inbox.list_newest(every=every, limit=min(limit + 1, PAGE))
        found = remote.all_items(asked, limit + 1)
        shown: Sequence[Shown] = [_entry(mail) for mail in found[:limit]]
        is_more = len(found) > limit
    else:
        shown, is_more = run(lambda: _all(Settings.read(config, tenant=tenant), every, limit))
    rows = [{**mail, "read": "yes" if mail["read"] else "no"} for mail in shown]
    print_entries(shown, _COLUMNS, rows, empty="no mail", as_json=as_json)
    if is_more:
        say("there is older mail: a higher --limit shows more of it", err=True)


@inbox_app.command()
def read(
    mail: MailArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a mail, and mark it as read."""
    if (remote := reach(url, key, tenant)) is not None:
        shown = _entry(remote.ask(inbox.read(mail)))
    else:
        shown = run(lambda: _read(Settings.read(config, tenant=tenant), mail))
    if as_json:
        print_json(shown)
        return
    say(f"from     {shown['sender']}")
    say(f"sent     {shown['created']}")
    say(f"subject  {shown['subject']}")
    say("")
    say_text(shown["body"])


@inbox_app.command()
def reply(
    mail: MailArgument,
    body: Annotated[
        str, typer.Argument(metavar="TEXT", help="The answer; `-` reads standard input.")
    ],
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer the agent that sent a mail."""
    said = sys.stdin.read() if body == "-" else body
    if (remote := reach(url, key, tenant)) is not None:
        shown = _entry(remote.ask(inbox.reply(mail, said)))
    else:
        shown = run(lambda: _reply(Settings.read(config, tenant=tenant), mail, said))
    if as_json:
        print_json(shown)
    else:
        say(f"mail {shown['id']!r} is sent to agent {shown['to_agent']!r}")


async def _all(settings: Settings, every: bool, limit: int) -> tuple[Sequence[Shown], bool]:
    """Return the newest mails, as many as were asked for, and whether there are older ones."""
    found: list[Mail] = []
    is_more = True
    async with open_installation(settings, author="") as opened:
        human = _inbox(opened)
        while is_more and len(found) < limit:
            mails, is_more = await human.mails(
                opened.tenant.name,
                include_read=every,
                after=found[-1].id if found else "",
                limit=limit - len(found),
            )
            found += mails
    return [_entry(mail) for mail in found], is_more


async def _read(settings: Settings, mail_id: str) -> Shown:
    async with (
        open_installation(settings, author="") as opened,
        making(opened, "inbox.read", {"id": mail_id}),
    ):
        return _entry(await _inbox(opened).read(opened.tenant.name, mail_id))


async def _reply(settings: Settings, mail_id: str, body: str) -> Shown:
    async with (
        open_installation(settings, author="") as opened,
        making(opened, "inbox.reply", {"id": mail_id}),
    ):
        tenant, author = opened.tenant.name, operator()
        return _entry(await _inbox(opened).reply(tenant, mail_id, body, author=author))


def _inbox(opened: Installation) -> HumanInbox:
    store = Crew(opened.database, Notices(opened.database))
    return HumanInbox(store=store, clock=utc_now, new_id=new_id)


def _entry(mail: Mail | inbox.Mail) -> Shown:
    return {
        "id": mail.id,
        "from_agent": mail.from_agent or None,
        "from_type": mail.from_type and str(mail.from_type),
        "sender": mail.sender,
        "to_agent": mail.to_agent or None,
        "subject": mail.subject,
        "body": mail.body,
        "created": mail.created.isoformat(timespec="seconds"),
        "read": None if mail.read is None else mail.read.isoformat(timespec="seconds"),
    }
