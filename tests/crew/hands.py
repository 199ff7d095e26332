"""A process of its own that drives some agents: orders come as JSON, and what came of it goes."""

import json
import sys
from typing import Any

import anyio
import httpx2

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.crew_gateway import CrewCaller
from remit.testing.gateway import Caller

Done = dict[str, list[list[str]]]


async def carry_out(orders: dict[str, Any]) -> Done:
    """Let every agent send its mail and, through one supervisor, fight for every task."""
    done: Done = {"sent": [], "got": []}
    limits = httpx2.Limits(max_connections=20)
    async with httpx2.AsyncClient(timeout=60, limits=limits, verify=TRUSTS_NOBODY) as http:
        boss, *workers = (
            CrewCaller(agent["id"], Caller(http, orders["url"], agent["key"]))
            for agent in orders["agents"]
        )
        left = dict.fromkeys(orders["tasks"])
        async with anyio.create_task_group() as tasks:
            for worker in workers:
                tasks.start_soon(_write, worker, orders, done["sent"])
                tasks.start_soon(_work, boss, worker, left, done["got"])
    return done


async def _write(agent: CrewCaller, orders: dict[str, Any], sent: list[list[str]]) -> None:
    to: list[str] = orders["to"]
    for number in range(orders["mails"]):
        receiver = to[number % len(to)]
        mail = {"toAgentId": receiver, "subject": f"{agent.id} {number}", "body": "b"}
        key = f"mail {number}"
        answer = await agent.does("mail__send", key=key, **mail)
        # each fifth time the answer is lost, and the caller asks the same again
        again = answer if number % 5 else await agent.does("mail__send", key=key, **mail)
        if again != answer:
            raise AssertionError("the same key gave another answer")
        sent.append([answer["mailId"], receiver])


async def _work(
    boss: CrewCaller, worker: CrewCaller, left: dict[str, None], got: list[list[str]]
) -> None:
    while left:
        task = next(iter(left))
        answer = await boss.answer("task__assign", taskId=task, agentId=worker.id)
        left.pop(task, None)  # whoever has it: several ask for the same at once
        if answer["result"]["isError"]:
            if answer["result"]["_meta"]["remit/error"]["code"] != "INVALID_INPUT":
                raise AssertionError(answer)
            continue
        got.append([task, worker.id])
        for state in ("IN_PROGRESS", "REVIEW", "COMPLETED"):
            mover = boss if state == "COMPLETED" else worker
            await mover.does("task__update_status", taskId=task, state=state)


if __name__ == "__main__":
    print(json.dumps(anyio.run(carry_out, json.load(sys.stdin))))  # noqa: T201 - its result
