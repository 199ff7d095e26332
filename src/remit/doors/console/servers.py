"""Page: the servers behind this gateway, where each stands, and what can be done about it."""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from remit.client import servers
from remit.client.servers import Server, Trial
from remit.doors.console import examination, server_edits
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.rendering import as_part
from remit.doors.console.visitor import Visitor

TONES: Final[Mapping[str, str]] = {
    "ready": "good",
    "degraded": "warn",
    "backing_off": "warn",
    "starting": "warn",
    "quarantined": "bad",
    "stopped": "plain",
}
"""State of a server to the tone of its badge."""

TOOLS: Final = 100
"""Tools of a server that are shown at once."""


async def show(visitor: Visitor) -> Response:
    """Show every server that is declared: others first, then those that remit brings along."""
    found = await visitor.ask_all(servers.list_all())
    wanted, state = visitor.asked("q").lower(), visitor.asked("state")
    fitting = [
        each
        for each in found
        if wanted in f"{each.name} {each.description} {each.reason}".lower()
        and state in ("", each.state)
    ]
    bundled = await visitor.ask_all(servers.bundled())
    return visitor.render(
        "servers.html",
        declared=found,
        about={name: each.description for each in bundled for name in each.servers},
        idle=[each for each in bundled if not each.servers],
        own=[each for each in fitting if each.transport != "builtin"],
        builtin=[each for each in fitting if each.transport == "builtin"],
        tones=TONES,
        wanted=visitor.asked("q"),
        state=state,
    )


async def show_one(visitor: Visitor) -> Response:
    """Show one server: where it stands, what it offers, what is declared of it."""
    return await _show(visitor)


async def try_out(visitor: Visitor) -> Response:
    """Connect to a server beside what is connected, and show what came of it."""
    return await _show(visitor, trial=await visitor.ask(servers.test(visitor.path["name"])))


async def restart(visitor: Visitor) -> Response:
    """Connect to a server anew."""
    name = visitor.path["name"]
    await visitor.ask(servers.restart(name, reason=visitor.sent("reason")))
    return visitor.go(_at(name), said=f"{name} is being connected anew.")


async def disable(visitor: Visitor) -> Response:
    """Take a server out of service: its connections end, what is declared of it stays."""
    name = visitor.path["name"]
    edited = await visitor.ask(servers.disable(name, reason=visitor.sent("reason")))
    return visitor.go(_at(name), said=f"{name} is out of service: revision {edited.revision}.")


async def enable(visitor: Visitor) -> Response:
    """Put a server back into service."""
    name = visitor.path["name"]
    edited = await visitor.ask(servers.enable(name, reason=visitor.sent("reason")))
    return visitor.go(_at(name), said=f"{name} is in service again: revision {edited.revision}.")


async def _show(visitor: Visitor, trial: Trial | None = None) -> Response:
    name = visitor.path["name"]
    cursor = visitor.asked("cursor") or None
    tagged = await visitor.ask_tagged(servers.get(name))
    return visitor.render(
        "server.html",
        server=tagged.value,
        etag=tagged.etag,
        advice=_advice(tagged.value),
        tools=await visitor.ask(servers.tools(name, limit=TOOLS, cursor=cursor)),
        trial=trial,
        tones=TONES,
    )


def _advice(server: Server) -> str:
    """Say what a server that is not ready needs."""
    if not server.enabled:
        return "It is out of service: put it back into service and it is connected again."
    match server.state:
        case "quarantined":
            return (
                f"It failed {server.failures} times and is only tried now and then. Once the cause"
                " is mended, restart it: it is connected at once, and its failures are forgotten."
            )
        case "backing_off":
            return "It is tried again by itself, after pauses that grow; a restart tries at once."
        case "degraded":
            return "Its tools are on offer, though its connection was lost or its list is old."
        case "starting":
            return "It is being connected: load this page again to see how that went."
        case "stopped":
            return "It cannot run as it is declared: edit it, or set what it asks for."
        case _:
            return ""


def _at(name: str) -> str:
    return f"/servers/{as_part(name)}"


PAGE: Final = Page(
    key="servers",
    path="/servers",
    title="Servers",
    group="Servers",
    show=show,
    who=READERS,
    actions=(
        *examination.ACTIONS,
        *server_edits.ACTIONS,
        Action(path="/servers/{name}", run=show_one, who=READERS, method="GET"),
        Action(path="/servers/{name}/test", run=try_out, who=ADMINISTRATORS, makes="servers.test"),
        Action(
            path="/servers/{name}/restart", run=restart, who=ADMINISTRATORS, makes="servers.restart"
        ),
        Action(
            path="/servers/{name}/disable", run=disable, who=ADMINISTRATORS, makes="servers.disable"
        ),
        Action(
            path="/servers/{name}/enable", run=enable, who=ADMINISTRATORS, makes="servers.enable"
        ),
    ),
)
