"""From a ticket to a merged pull request and a closed ticket, each step by the role that may.

    make example NAME=ticket-to-merge

GitHub and Jira are played by fakes that keep state (npm `emulate`, PyPI `jira820`); the repository,
its bare remote, the gateway, the servers and the callers are real.
"""

import sys
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from remit.client import AsyncClient
from remit.errors import CallRefused
from remit.testing.squad import BOARD, DONE, PERSON, PROJECT, UNDER_WAY, Squad, open_squad

TITLE = "Tell whether the service is up"
BRANCH = "feature/health"
CODE = 'def health():\n    return {"status": "ok"}\n'


SHOWN = ("key", "number", "issue_number", "branch", "status", "merged", "result", "created")
"""Fields of a result that are told while the road is walked."""


class AstrayError(Exception):
    """The road went another way than it should."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One role at work, over MCP."""

    role: str
    client: AsyncClient

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


@asynccontextmanager
async def at_work(squad: Squad, role: str) -> AsyncGenerator[Agent]:
    """Connect to the gateway as *role*."""
    async with AsyncClient(squad.gateway.base, key=squad.gateway.key(role)) as client:
        yield Agent(role, client)


async def walk(squad: Squad) -> None:
    """Go the whole road once."""
    ticket = await plan(squad)
    pull_number = await build(squad, ticket)
    await examine(squad, ticket, pull_number)
    await review(squad, pull_number)
    await close(squad, ticket)


async def plan(squad: Squad) -> str:
    """Make a ticket and give it to somebody."""
    say("\nproject_manager plans")
    async with at_work(squad, "project_manager") as manager:
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


async def build(squad: Squad, ticket: str) -> int:
    """Branch, write, commit, push, and open a pull request."""
    say("\nbackend_developer builds")
    async with at_work(squad, "backend_developer") as developer:
        await developer.does("git__git_checkout", branch_name=BRANCH, create=True)
        (squad.work / "health.py").write_text(CODE)
        message = f"{ticket}: {TITLE}"
        await developer.does("git__git_commit", message=message, paths=["health.py"])
        await developer.does("git__git_push")
        squad.mirror(BRANCH)
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


async def examine(squad: Squad, ticket: str, pull_number: int) -> None:
    """Test, and say so on the ticket and on the pull request."""
    say("\nqa_tester tests")
    async with at_work(squad, "qa_tester") as tester:
        await tester.does("github__get_pull_request", pull_number=pull_number)
        await tester.does("jira__change_status", ticket_key=ticket, status=UNDER_WAY)
        said = "Answers `ok` on three runs."
        await tester.does("jira__add_comment", ticket_key=ticket, body=said)
        await tester.does("github__add_issue_comment", issue_number=pull_number, body=said)
        await tester.may_not("git__git_status")
        await tester.may_not("github__merge_pull_request", pull_number=pull_number)


async def review(squad: Squad, pull_number: int) -> None:
    """Read the change, approve it and merge it."""
    say("\ntech_lead reviews and merges")
    async with at_work(squad, "tech_lead") as lead:
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
    async with at_work(squad, "devops_engineer") as devops:
        await devops.does("git__git_push")
        await devops.may_not("git__git_commit", message="a hot fix", all=True)


async def close(squad: Squad, ticket: str) -> None:
    """Close the ticket and look at the sprint."""
    say("\nproject_manager closes")
    async with at_work(squad, "project_manager") as manager:
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
    """Give the folder of the first argument, or one that is gone afterwards."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
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
            anyio.run(walk, squad)
        except* AstrayError as astray:
            raise SystemExit("; ".join(map(str, leaves(astray)))) from None
        tell(squad.gateway.audit())


if __name__ == "__main__":
    main()
