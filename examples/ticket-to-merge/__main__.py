"""From a ticket to a merged pull request and a closed ticket, each step by the role that may.

    make example NAME=ticket-to-merge
    make example NAME=ticket-to-merge ARGS=--library    # the same inside this program

GitHub and Jira are played by fakes that keep state (npm `emulate`, PyPI `jira820`); the repository,
its bare remote, the gateway, the servers and the callers are real.
"""

import os
import sys
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import anyio

from remit import AgentMCPService, MCPToolMapper
from remit.client import AsyncClient, CallResult
from remit.errors import CallRefused
from remit.testing.squad import BOARD, DONE, PERSON, PROJECT, UNDER_WAY, Squad, open_squad

TITLE = "Tell whether the service is up"
BRANCH = "feature/health"
CODE = 'def health():\n    return {"status": "ok"}\n'


LIBRARY = "--library"

SHOWN = ("key", "number", "issue_number", "branch", "status", "merged", "result", "created")
"""Fields of a result that are told while the road is walked."""


class AstrayError(Exception):
    """The road went another way than it should."""


class Caller(Protocol):
    """What a role calls tools by: a client of the gateway, or `Inside`."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any], /) -> CallResult:
        """Call a tool by its published name; raises `CallRefused`."""
        ...


@dataclass(frozen=True, slots=True)
class Inside:
    """The calls of a role inside this program, by the library."""

    service: AgentMCPService
    role: str

    async def call_tool(self, name: str, arguments: Mapping[str, Any], /) -> CallResult:
        """Call a tool; its server is connected when it is first used."""
        server, _, tool = name.partition("__")
        try:
            result = await self.service.execute_tool(self.role, server, tool, dict(arguments))
        except PermissionError as error:
            raise CallRefused(str(error), code="PERMISSION_DENIED") from error
        return CallResult.of(result)


@dataclass(frozen=True, slots=True)
class Agent:
    """One role at work."""

    role: str
    client: Caller

    async def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that this role may use; return its structured result.

        Raises:
            AstrayError: It did not go well.
        """
        try:
            result = await self.client.call_tool(tool, arguments)
        except CallRefused as refused:
            raise AstrayError(f"{self.role} was refused {tool}: {refused}") from refused
        if result.is_error or result.structured is None:
            raise AstrayError(f"{self.role} could not {tool}: {result.text}")
        say(f"{self.role:<18} {tool:<29} ok       {_short(result.structured)}")
        return dict(result.structured)

    async def may_not(self, tool: str, **arguments: Any) -> None:
        """Try a tool that this role may not use.

        Raises:
            AstrayError: It was not refused.
        """
        try:
            await self.client.call_tool(tool, arguments)
        except CallRefused as refused:
            say(f"{self.role:<18} {tool:<29} refused  {refused.reason}")
            return
        raise AstrayError(f"{self.role} was not refused {tool}")


@dataclass(frozen=True, slots=True)
class Road:
    """Where the squad works, and by what: the gateway, or the library where it is given."""

    squad: Squad
    service: AgentMCPService | None = None

    @asynccontextmanager
    async def at_work(self, role: str) -> AsyncGenerator[Agent]:
        """Let *role* work."""
        if self.service is not None:
            yield Agent(role, Inside(self.service, role))
            return
        gateway = self.squad.gateway
        async with AsyncClient(gateway.base, key=gateway.key(role)) as client:
            yield Agent(role, client)


async def walk(squad: Squad, *, by_library: bool) -> None:
    """Go the whole road once, over the gateway or inside this program."""
    if not by_library:
        await go(Road(squad))
        return
    os.environ.update(squad.gateway.environ)  # the tokens that the servers' entries name
    async with AgentMCPService(mapper=MCPToolMapper(squad.gateway.config)) as service:
        await go(Road(squad, service))


async def go(road: Road) -> None:
    """Go from a ticket to a merge, each step by the role that may."""
    ticket = await plan(road)
    pull_number = await build(road, ticket)
    await examine(road, ticket, pull_number)
    await review(road, pull_number)
    await close(road, ticket)


async def plan(road: Road) -> str:
    """Make a ticket and give it to somebody."""
    say("\nproject_manager plans")
    async with road.at_work("project_manager") as manager:
        ticket = await manager.does(
            "jira__create_ticket",
            project_key=PROJECT,
            summary=TITLE,
            description="`GET /health` answers **ok** while the service runs.",
        )
        key = str(ticket["key"])
        await manager.does("jira__assign_ticket", ticket_key=key, assignee=PERSON)
        await manager.may_not("git__git_commit", message="a shortcut", all=True)
        await manager.may_not("github__merge_pull_request", pull_number=1)
    return key


async def build(road: Road, ticket: str) -> int:
    """Branch, write, commit, push, and open a pull request."""
    say("\nbackend_developer builds")
    async with road.at_work("backend_developer") as developer:
        await developer.does("git__git_checkout", branch_name=BRANCH, create=True)
        (road.squad.work / "health.py").write_text(CODE)
        message = f"{ticket}: {TITLE}"
        await developer.does("git__git_commit", message=message, paths=["health.py"])
        await developer.does("git__git_push")
        road.squad.mirror(BRANCH)
        made = await developer.does(
            "github__create_pull_request",
            title=message,
            head=BRANCH,
            base="main",
            body=f"Does what {ticket} asks for.",
        )
        await developer.does("git__git_checkout", branch_name="main")
        await developer.may_not("git__git_merge", branch_name=BRANCH)
        number = int(made["number"])
        await developer.may_not("github__merge_pull_request", pull_number=number)
        await developer.may_not("jira__change_status", ticket_key=ticket, status="Done")
    return number


async def examine(road: Road, ticket: str, pull_number: int) -> None:
    """Test, and say so on the ticket and on the pull request."""
    say("\nqa_tester tests")
    async with road.at_work("qa_tester") as tester:
        await tester.does("github__get_pull_request", pull_number=pull_number)
        await tester.does("jira__change_status", ticket_key=ticket, status=UNDER_WAY)
        said = "Answers `ok` on three runs."
        await tester.does("jira__add_comment", ticket_key=ticket, body=said)
        await tester.does("github__add_issue_comment", issue_number=pull_number, body=said)
        await tester.may_not("git__git_status")
        await tester.may_not("github__merge_pull_request", pull_number=pull_number)


async def review(road: Road, pull_number: int) -> None:
    """Read the change, approve it and merge it."""
    say("\ntech_lead reviews and merges")
    async with road.at_work("tech_lead") as lead:
        await lead.does("git__git_diff", target=f"main...{BRANCH}")
        await lead.does(
            "github__update_pull_request",
            pull_number=pull_number,
            review={"event": "APPROVE", "body": "Small and tested."},
        )
        await lead.does("github__merge_pull_request", pull_number=pull_number)
        await lead.does("git__git_merge", branch_name=BRANCH)
        await lead.may_not("git__git_push")
        await lead.may_not("jira__change_status", ticket_key="ANY-1", status="Done")
    async with road.at_work("devops_engineer") as devops:
        await devops.does("git__git_push")
        await devops.may_not("git__git_commit", message="a hot fix", all=True)


async def close(road: Road, ticket: str) -> None:
    """Close the ticket and look at the sprint."""
    say("\nproject_manager closes")
    async with road.at_work("project_manager") as manager:
        await manager.does("jira__change_status", ticket_key=ticket, status=DONE)
        await manager.does("jira__get_sprint", board=BOARD, tickets=False)
        await manager.may_not("git__git_log")


def tell(rows: list[dict[str, Any]]) -> None:
    """Read the audit as a story, oldest first."""
    say("\nthe audit tells it (remit audit search)")
    for row in reversed(rows):
        what = f"{row['server']}/{row['tool']}" if row["server"] else row["tool"]
        if row["decision"] == "allow":
            say(f"  {row['role']} used {what}: {row['rule']}, revision {row['revision']}")
        else:
            say(f"  {row['role']} was refused {what}: {row['error'] or row['rule']}")


def _short(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {result[key]}" for key in SHOWN if result.get(key) is not None)


def leaves(group: BaseExceptionGroup[AstrayError]) -> Iterator[AstrayError]:
    """Yield the errors themselves out of groups of groups."""
    for inner in group.exceptions:
        if isinstance(inner, AstrayError):
            yield inner
        else:
            yield from leaves(inner)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def workplace() -> Generator[Path]:
    """Give the folder that was named, or one that is gone afterwards."""
    named = [argument for argument in sys.argv[1:] if argument != LIBRARY]
    if named:
        folder = Path(named[0])
        folder.mkdir(parents=True, exist_ok=True)
        yield folder.resolve()
    else:
        with TemporaryDirectory(prefix="ticket-to-merge-") as made:
            yield Path(made)


def main() -> None:
    """Gather the squad, go the road, read the audit."""
    with workplace() as folder, open_squad(folder) as squad:
        if squad is None:
            raise SystemExit("the fakes of GitHub and Jira are not here; `make setup` gets them")
        try:
            anyio.run(partial(walk, squad, by_library=LIBRARY in sys.argv))
        except* AstrayError as astray:
            raise SystemExit("; ".join(map(str, leaves(astray)))) from None
        tell(squad.gateway.audit())


if __name__ == "__main__":
    main()
