"""`remit call`: one call through the whole pipeline."""

import json
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

import typer

from remit.admin.declaration import load_declaration
from remit.app.gateway import open_gateway
from remit.calls.ids import new_id
from remit.cli.changes import operator
from remit.cli.file_note import note_file
from remit.cli.lines import json_text, print_json, say_text
from remit.cli.output import (
    EXIT_NO,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    ConfigFlag,
    TenantFlag,
    fail,
    run,
)
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.servers import print_absent, settle
from remit.cli.subjects import SubjectFlag, ToolArgument, check_arguments, find_subject
from remit.client import me
from remit.doors.mcp.envelope import Fault
from remit.doors.mcp.problems import Problems
from remit.errors import BadCall, CallDenied, LimitReached, UpstreamError
from remit.model.call_meta import CODE, OUTCOME, REQUEST, UNKNOWN_OUTCOME
from remit.model.calls import Call
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings

_AWAY: Final = frozenset({"UPSTREAM_TIMEOUT", "UPSTREAM_UNAVAILABLE"})
"""Codes of results that say, unless they call the outcome unknown, that nothing was sent (R23)."""


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

    What counts is the revision in force, or the file where nothing was declared yet.
    Exit status 1 when it is refused, does not fit or fails, 3 when its server is away.
    """
    check_arguments(arguments)
    if (remote := reach(url, key, tenant)) is not None:
        result = _asked(remote, subject, tool, arguments)
    else:
        result = run(
            lambda: _called(Settings.read(config, tenant=tenant), subject, tool, arguments)
        )
    _check_sent(result)
    if as_json:
        print_json(result)
    else:
        say_text(_text_of(result))
    if result.get("isError") is True:
        raise typer.Exit(EXIT_NO)


def _asked(remote: Remote, subject: str, tool: str, arguments: str) -> Mapping[str, Any]:
    """Call as whoever the key is: an administrator's key, too, opens no tool for another (R12)."""
    holder = remote.ask(me.get()).subject
    if subject != holder:
        fail(f"with --url a call is made by the key's own holder: --as {holder}", EXIT_USAGE)
    return remote.call_tool(tool, json.loads(arguments)).to_json()


async def _called(settings: Settings, subject: str, tool: str, arguments: str) -> Mapping[str, Any]:
    file = load_declaration(settings.config) if settings.tenant == DEFAULT_TENANT else None
    async with open_gateway(settings, author=operator(), as_stored=True) as gateway:
        if gateway.installation.tenant.name == DEFAULT_TENANT:
            await note_file(gateway.installation, file or load_declaration(settings.config))
        principal = await find_subject(gateway.installation, subject)
        await settle(gateway, tool)
        request = Call(
            id=new_id(),
            principal=principal,
            requested=tool,
            scope=None,
            arguments=arguments.encode(),
            started=time.monotonic(),
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
        except UpstreamError as failure:
            return _told(failure, request)
        return json.loads(outcome.result)


def _told(failure: UpstreamError, request: Call) -> Mapping[str, Any]:
    """Return the result by which the gateway's door tells of *failure*; leave if it is none."""
    told = Problems(lambda _: True, {})(
        failure, principal=request.principal, request_id=request.id, modern=False
    )
    if isinstance(told, Fault):  # the server's own error
        fail(f"{told.message} (request {request.id})")
    return json.loads(told)


def _check_sent(result: Mapping[str, Any]) -> None:
    """Leave with status 3 when the call never reached its server."""
    said = _said(result)
    if said.get(CODE) in _AWAY and said.get(OUTCOME) != UNKNOWN_OUTCOME:
        fail(_text_of(result), EXIT_UNREACHABLE)


def _said(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the gateway says of a call that failed; empty when the tool speaks."""
    meta = result.get("_meta")
    if result.get("isError") is not True or not isinstance(meta, dict):
        return {}
    said = cast("dict[str, Any]", meta)
    return said if REQUEST in said else {}


def _text_of(result: Mapping[str, Any]) -> str:
    content = cast("list[dict[str, object]]", result.get("content") or [])
    texts = [str(block.get("text", f"[{block.get('type')}]")) for block in content]
    text = "\n".join(texts) or json_text(result)
    said = _said(result)
    return f"{text} (request {said['remit/requestId']})" if said else text
