"""`remit call`: one call through the whole pipeline."""

import json
from datetime import UTC, datetime
from typing import Annotated, cast

import typer

from remit.app.gateway import open_gateway
from remit.calls.ids import new_id
from remit.cli.changes import operator
from remit.cli.output import EXIT_NO, EXIT_USAGE, ConfigFlag, TenantFlag, fail, print_json, run
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.servers import print_absent, settle
from remit.cli.subjects import SubjectFlag, ToolArgument, check_arguments, find_subject
from remit.client import me
from remit.errors import BadCall, CallDenied, LimitReached
from remit.model.calls import Call, OutcomeKind
from remit.settings import Settings


def call(
    subject: SubjectFlag,
    tool: ToolArgument,
    *,
    arguments: Annotated[
        str, typer.Option("--args", metavar="JSON", help="The arguments, as a JSON object.")
    ] = "{}",
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole MCP result, not only its texts.")
    ] = False,
) -> None:
    """Call a tool as a caller would: checked, bounded and recorded.

    Exit status 1 when it is refused, does not fit or fails.
    """
    check_arguments(arguments)
    if (remote := reach(url, key, tenant)) is not None:
        kind, result = _asked(remote, subject, tool, arguments)
    else:
        kind, result = run(
            lambda: _called(Settings.read(config, tenant=tenant), subject, tool, arguments)
        )
    if as_json:
        print_json(result)
    else:
        typer.echo(_text_of(result))
    if kind is not OutcomeKind.OK:
        raise typer.Exit(EXIT_NO)


def _asked(
    remote: Remote, subject: str, tool: str, arguments: str
) -> tuple[OutcomeKind, dict[str, object]]:
    """Call as whoever the key is: an administrator's key, too, opens no tool for another (R12)."""
    holder = remote.ask(me.get()).subject
    if subject != holder:
        fail(f"with --url a call is made by the key's own holder: --as {holder}", EXIT_USAGE)
    result = remote.call_tool(tool, json.loads(arguments))
    return OutcomeKind.TOOL_ERROR if result.is_error else OutcomeKind.OK, result.to_json()


async def _called(
    settings: Settings, subject: str, tool: str, arguments: str
) -> tuple[OutcomeKind, dict[str, object]]:
    async with open_gateway(settings, author=operator()) as gateway:
        principal = await find_subject(gateway.installation, subject)
        await settle(gateway)
        request = Call(
            id=new_id(),
            principal=principal,
            requested=tool,
            scope=None,
            arguments=arguments.encode(),
            started=datetime.now(UTC),
        )
        try:
            outcome = await gateway.home.pipeline.run(request)
        except CallDenied as denied:
            if not denied.layer:  # the name may be that of a server that is away
                print_absent(gateway)
            fail(
                f"denied: {denied.reason} (request {request.id};"
                f" see `remit explain --as {subject} {tool}`)"
            )
        except (BadCall, LimitReached) as bad:
            fail(f"{bad} (request {request.id})")
        return outcome.kind, cast("dict[str, object]", json.loads(outcome.result))


def _text_of(result: dict[str, object]) -> str:
    content = cast("list[dict[str, object]]", result.get("content") or [])
    texts = [str(block.get("text", f"[{block.get('type')}]")) for block in content]
    return "\n".join(texts) or json.dumps(result, ensure_ascii=False)
