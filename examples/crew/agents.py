"""What the agents of the example run: a supervisor, an orchestrator, workers; a process each.

    python agents.py supervisor | orchestrator EPIC WORKER... | worker CLONE | langchain CLONE

They are scripted, and know what any program would be told: the gateway's URL, who they are, and a
key of their own (`GATEWAY`, `AGENT`, `REMIT_KEY`). Workers speak MCP, the others the JSON door.
"""

import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

PARTS = ("prices", "cart", "receipt")
"""What the shop is made of; each part is a task."""

SLOW = "w3"
"""Who hangs in the middle of its work."""

WAIT = 2
"""Seconds that an agent waits for mail before it looks elsewhere."""


class ToolFailedError(Exception):
    """A tool did not do what was asked."""


class Door(Protocol):
    """A way to the tools."""

    async def call(self, tool: str, **given: object) -> dict[str, Any]:
        """Call `server__tool` and return its result.

        Raises:
            ToolFailedError: It failed.
        """
        ...


class JsonDoor:
    """`POST /mcp/execute`: for programs that do not speak MCP."""

    def __init__(self, http: httpx2.AsyncClient, url: str, agent: str) -> None:
        self._http = http
        self._url = f"{url}/mcp/execute"
        self._agent = agent

    async def call(self, tool: str, **given: object) -> dict[str, Any]:
        """Call a tool as this agent."""
        asked = {"agentId": self._agent, "toolName": f"mcp__{tool}", "input": given}
        answer = (await self._http.post(self._url, json=asked)).json()
        if not answer["success"]:
            raise ToolFailedError(f"{tool}: {answer['error']}")
        return answer["data"]


class McpDoor:
    """MCP, as any agent's program speaks it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **given: object) -> dict[str, Any]:
        """Call a tool as this agent."""
        result = await self._client.call_tool(tool, given)
        if result.is_error or result.structured_content is None:
            raise ToolFailedError(f"{tool}: {result.content}")
        return dict(result.structured_content)


@asynccontextmanager
async def open_http() -> AsyncGenerator[httpx2.AsyncClient]:
    """Give a client with this agent's key."""
    headers = {"Authorization": f"Bearer {os.environ['REMIT_KEY']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        yield http


async def new_mail(door: Door) -> Sequence[Mapping[str, Any]]:
    """Wait for mail, and return what came, oldest first; it counts as read."""
    listed = await door.call("mail__list_inbox", waitSeconds=WAIT)
    return [await door.call("mail__read", mailId=mail["id"]) for mail in reversed(listed["mails"])]


async def supervise(door: Door) -> None:
    """Begin the epic, and wait until its orchestrator says that it is done."""
    epic = await door.call(
        "epic__create", title="A shop that adds up", description="Prices, a cart, a receipt."
    )
    made = await door.call("orchestrator__create", epicId=epic["epicId"])
    await door.call(
        "system__log_decision",
        title="One orchestrator, three workers",
        body="The three parts of the shop do not touch one another.",
    )
    say(f"epic {epic['epicId']} {made['agentId']}")
    while not any(mail["subject"] == "Epic completed" for mail in await new_mail(door)):
        pass
    health = await door.call("orchestrator__check_health", agentId=made["agentId"])
    await door.call(
        "system__log_decision",
        title="The shop is accepted",
        body=f"Its orchestrator says so, and is healthy: {health['healthy']}.",
    )


class Orchestrator:
    """Plans the epic, gives out its tasks, reviews and merges what comes back."""

    def __init__(self, door: Door, epic: str, workers: Sequence[str]) -> None:
        self._door = door
        self._epic = epic
        self._workers = workers
        self._at: dict[str, str] = {}
        self._lost: set[str] = set()

    async def run(self) -> None:
        """Go on until the epic is completed."""
        door = self._door
        await door.call("epic__update_status", state="IN_PROGRESS")
        for part in PARTS:
            await door.call("task__create", title=part, description=f"Write {part}.py.")
        while True:
            tasks = (await door.call("epic__list_tasks"))["tasks"]
            if all(task["state"] == "COMPLETED" for task in tasks):
                break
            await self._give_out(tasks)
            for task in (await door.call("epic__get_review_queue"))["tasks"]:
                await self._review(task)
            for mail in await new_mail(door):
                await self._hear(mail)
        await door.call("epic__update_status", state="COMPLETED")
        await self._mail("s1", "Epic completed", f"{len(PARTS)} parts are merged.")
        for worker in self._workers:
            if worker not in self._lost:
                await self._mail(worker, "Done", "The epic is completed. Thank you.")

    async def _give_out(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        free = [
            each
            for each in self._workers
            if each not in self._lost and each not in self._at.values()
        ]
        waiting = [task for task in tasks if task["state"] == "PENDING"]
        for task, worker in zip(waiting, free, strict=False):
            await self._door.call("task__assign", taskId=task["id"], agentId=worker)
            await self._mail(worker, f"Your task: {task['title']}", task["description"])
            self._at[task["id"]] = worker

    async def _hear(self, mail: Mapping[str, Any]) -> None:
        if not mail["subject"].startswith("Task PENDING again"):
            return
        lost = next(each for each in self._workers if f"worker {each} " in mail["body"])
        self._lost.add(lost)
        self._at = {task: worker for task, worker in self._at.items() if worker != lost}
        await self._door.call(
            "system__log_decision",
            title=f"{lost}'s task goes to another worker",
            body=mail["body"],
        )

    async def _review(self, task: Mapping[str, Any]) -> None:
        door, branch = self._door, task["branchName"]
        where = {"repo_path": "lead"}
        await door.call("git__git_pull", branch=branch, strategy="merge", **where)
        if "TODO" in (Path(os.environ["WORKSHOP"]) / "lead" / f"{task['title']}.py").read_text():
            await door.call(
                "epic__request_changes", taskId=task["id"], feedback="Leave nothing to be done."
            )
            return
        await door.call("git__git_push", **where)
        await door.call("epic__approve_task", taskId=task["id"])
        self._at.pop(task["id"], None)

    async def _mail(self, to: str, subject: str, body: str) -> None:
        await self._door.call("mail__send", toAgentId=to, subject=subject, body=body)


class Worker:
    """Takes its task, writes the part in its own clone, and hands it in.

    Attributes:
        clone: Where it writes.
    """

    def __init__(self, door: Door, name: str, clone: Path) -> None:
        self._door = door
        self._name = name
        self.clone = clone
        self._currency = ""

    async def run(self) -> None:
        """Go on until the orchestrator says that all is done."""
        while True:
            for mail in await new_mail(self._door):
                if mail["subject"] == "Done":
                    return
                if mail["fromAgentId"] is None:
                    self._currency = mail["body"]
            try:
                task = await self._door.call("agent__get_task")
            except ToolFailedError:
                continue  # it has none now
            if task["state"] in ("ASSIGNED", "IN_PROGRESS"):
                await self.work(task)

    async def work(self, task: Mapping[str, Any]) -> None:
        """Do one task, or go on with it."""
        door, part = self._door, task["title"]
        is_new = task["state"] == "ASSIGNED"
        if is_new:
            await door.call("task__update_status", state="IN_PROGRESS")
        if self._name == SLOW:
            say(f"hangs {part}")
            await anyio.sleep_forever()
        if part == "receipt" and is_new:
            await self._preview()
        if part == "prices" and not self._currency:
            await self._ask_human()
            return
        branch = f"part/{part}"
        where = {"repo_path": self.clone.name}
        if is_new or not (self.clone / f"{part}.py").exists():
            await door.call("git__git_checkout", branch_name="main", **where)
            await door.call("git__git_checkout", branch_name=branch, create=True, **where)
        code = self.code(part, is_first=is_new)
        (self.clone / f"{part}.py").write_text(code)
        await door.call("git__git_commit", message=f"Add {part}", paths=[f"{part}.py"], **where)
        await door.call("git__git_push", **where)
        await door.call("task__update_status", state="REVIEW", branchName=branch)

    def code(self, part: str, *, is_first: bool) -> str:
        """Return what the part is to be."""
        if part == "prices":
            return f'CURRENCY = "{self._currency}"\nPRICES = {{"pen": 2, "ink": 5}}\n'
        if part == "cart":
            rest = "  # TODO: count" if is_first else ""
            return (
                f"def total(prices, cart):\n    return sum(prices[each] for each in cart){rest}\n"
            )
        return 'def receipt(total, currency):\n    return f"{total} {currency}"\n'

    async def _preview(self) -> None:
        try:
            await self._door.call("deploy__preview")
        except ToolFailedError:
            await self._door.call(
                "system__log_decision",
                title="Went on without a preview",
                body="The preview failed, which the human hears of; the receipt does not need it.",
            )

    async def _ask_human(self) -> None:
        await self._door.call(
            "mail__send", toHuman=True, subject="Which currency?", body="What do prices stand in?"
        )
        while not self._currency:
            for mail in await new_mail(self._door):
                if mail["fromAgentId"] is None:
                    self._currency = mail["body"]


def worker_of(kind: str) -> type[Worker]:
    """Return what runs a worker; LangChain is imported where it is asked for."""
    if kind == "worker":
        return Worker
    found: type[Worker] = import_module("langchain_worker").LangChainWorker
    return found


def say(line: str) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main() -> None:
    """Run one agent to its end."""
    kind, *rest = sys.argv[1:]
    url, agent = os.environ["GATEWAY"], os.environ["AGENT"]
    async with open_http() as http:
        if kind in ("worker", "langchain"):
            async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
                await worker_of(kind)(McpDoor(client), agent, Path(rest[0])).run()
            return
        door = JsonDoor(http, url, agent)
        if kind == "supervisor":
            await supervise(door)
        else:
            await Orchestrator(door, rest[0], rest[1:]).run()


if __name__ == "__main__":
    # langchain_worker imports from here: it is to find these classes, and no second ones
    sys.modules["agents"] = sys.modules["__main__"]
    anyio.run(main)
