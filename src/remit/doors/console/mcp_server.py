"""Page: the MCP endpoint, what each kind of caller finds there, and the agent key (S2.20-S2.26)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from remit.client import projects, servers
from remit.client.projects import AgentKey, Config, Described
from remit.doors.console.client_setups import NO_KEY, mcp_servers, setups
from remit.doors.console.forms import status_of
from remit.doors.console.page import ADMINISTRATORS, READERS, Action, Page
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails

_PATH: Final = "/mcp-server"
_KEY_PLACE: Final = "agent"
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """An option of a toolset.

    Attributes:
        option: As the API spells it.
        group: The group of tools that it belongs to, likewise.
        label: As the page has it.
        hint: What it opens.
        recommended: Whether the page advises to have it on.
    """

    option: str
    group: str
    label: str
    hint: str
    recommended: bool = False


SWITCHES: Final = (
    Switch(
        option="allowOntologyMaintenance",
        group="user",
        label="Allow Usage to Improve Ontology",
        hint="What people ask improves what is known of the data. Their changes to queries wait"
        " for approval.",
        recommended=True,
    ),
    Switch(
        option="addQueryTools",
        group="developer",
        label="Add Query Tools",
        hint="Include schema exploration and query execution tools.",
    ),
    Switch(
        option="addOntologyMaintenance",
        group="developer",
        label="Add Ontology Maintenance",
        hint="Include ontology management and refinement tools.",
    ),
)
"""Every switch of the page, in its order (S2.5)."""

_TITLES: Final[Mapping[str, str]] = {"user": "User Tools", "developer": "Developer Tools"}


async def show(visitor: Visitor) -> Response:
    """Show the endpoint, the three cards and the key."""
    places = (_KEY_PLACE, *(each.option for each in SWITCHES))
    changed = visitor.asked("changed")
    return await _shown(visitor, place=changed if changed in places else "")


async def switch(visitor: Visitor) -> Response:
    """Set one option, which is in force at once, and say what that changed."""
    option, value = visitor.sent("option"), visitor.is_sent("on")
    before = (await visitor.ask(projects.config(visitor.tenant))).data
    try:
        chosen = _switch_of(option)
        answer = await visitor.ask(projects.configure(visitor.tenant, {option: value}))
    except ProblemDetails as problem:
        return await _shown(visitor, problem=problem)
    said = _said(chosen, before, answer.data)
    return visitor.go(_PATH, said=said, query={"changed": option})


async def generate(visitor: Visitor) -> Response:
    """Make a key, which ends the one before, and show it: this answer alone holds its text.

    The form says which key was there. So a page that is loaded again, or sent by somebody who does
    not know of another's key, ends none.
    """
    try:
        await _check_same_key(visitor)
        answer = await visitor.ask(projects.regenerate_agent_key(visitor.tenant))
    except ProblemDetails as problem:
        return await _shown(visitor, place=_KEY_PLACE, problem=problem)
    return await _shown(visitor, place=_KEY_PLACE, made=answer.data)


async def revoke(visitor: Visitor) -> Response:
    """End the key."""
    try:
        await _check_same_key(visitor)
        await visitor.ask(projects.revoke_agent_key(visitor.tenant))
    except ProblemDetails as problem:
        return await _shown(visitor, place=_KEY_PLACE, problem=problem)
    said = "The agent key is revoked: whoever has it is refused."
    return visitor.go(_PATH, said=said, query={"changed": _KEY_PLACE})


async def _check_same_key(visitor: Visitor) -> None:
    """Refuse what was meant for another key than the one in use.

    Raises:
        ProblemDetails: It was.
    """
    key = (await visitor.ask(projects.agent_key(visitor.tenant))).data
    if visitor.sent("instead_of") != (key.key or ""):
        raise ProblemDetails(
            "nothing was done: look at the key in use now, and decide again",
            status=_CONFLICT,
            code="",
            title="The agent key is another one since this page was loaded",
        )


def _switch_of(option: str) -> Switch:
    """Return the switch of an option.

    Raises:
        ProblemDetails: There is none.
    """
    for each in SWITCHES:
        if each.option == option:
            return each
    raise ProblemDetails(
        "nothing was changed: use the switches of this page",
        status=_NOT_FOUND,
        code="",
        title="There is no such option",
    )


async def _shown(
    visitor: Visitor,
    *,
    place: str = "",
    made: AgentKey | None = None,
    problem: ProblemDetails | None = None,
) -> Response:
    """Return the page.

    Args:
        visitor: Who looks.
        place: What was changed or refused: an option or the key. It is said there, and not above.
        made: The key that was made just now, with its text.
        problem: Why the API refused.
    """
    config = (await visitor.ask(projects.config(visitor.tenant))).data
    key = made or (await visitor.ask(projects.agent_key(visitor.tenant))).data
    server = config.server_url.rpartition("/")[2]
    is_declared = await _is_declared(visitor, server)
    is_everywhere = visitor.asked("endpoint") == "all" or not is_declared
    endpoint = f"{visitor.base}/mcp" if is_everywhere else config.server_url
    return visitor.render(
        "mcp_server.html",
        status=status_of(problem),
        here=visitor.url(_PATH),
        said="" if place else visitor.said,
        noted=visitor.said,
        place=place,
        problem=problem,
        config=config,
        server=server,
        is_declared=is_declared,
        is_everywhere=is_everywhere,
        endpoint=endpoint,
        setups=setups(endpoint, base=visitor.base, server="" if is_everywhere else server),
        key=key,
        example=mcp_servers(key.server_url, NO_KEY if key.masked else key.key or NO_KEY),
        switches=_by_group(config),
    )


async def _is_declared(visitor: Visitor, server: str) -> bool:
    try:
        await visitor.ask(servers.get(server))
    except ProblemDetails as problem:
        if problem.status == _NOT_FOUND:
            return False
        raise
    return True


def _by_group(config: Config) -> Mapping[str, Sequence[tuple[Switch, bool]]]:
    """Return each group's switches, and whether they are on."""
    return {
        group: [
            (each, config.tool_groups[group][each.option])
            for each in SWITCHES
            if each.group == group
        ]
        for group in _TITLES
    }


def _said(chosen: Switch, before: Config, after: Config) -> str:
    """Return what came of setting an option."""
    value = "on" if after.tool_groups[chosen.group][chosen.option] else "off"
    was, now = (len(_tools(config, chosen.group)) for config in (before, after))
    what = f"{chosen.label} is {value}: {_TITLES[chosen.group]}"
    if was == now:
        return f"{what} stay at {now}."
    return f"{what} went from {was} to {now}. Clients that are connected are told."


def _tools(config: Config, group: str) -> Sequence[Described]:
    return config.user_tools if group == "user" else config.developer_tools


PAGE: Final = Page(
    key="mcp-server",
    path=_PATH,
    title="MCP Server",
    group="Access",
    show=show,
    who=READERS,
    actions=(
        Action(path=f"{_PATH}/options", run=switch, who=ADMINISTRATORS, makes="projects.configure"),
        Action(
            path=f"{_PATH}/agent-key",
            run=generate,
            who=ADMINISTRATORS,
            makes="projects.regenerate_agent_key",
        ),
        Action(
            path=f"{_PATH}/agent-key/revoke",
            run=revoke,
            who=ADMINISTRATORS,
            makes="projects.revoke_agent_key",
        ),
    ),
)
