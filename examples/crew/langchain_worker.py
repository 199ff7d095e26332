"""A worker whose program is a LangChain agent with an offline model, for the part `cart`.

Its tools are remit's, as `remit[langchain]` gives them; the model says what a model would say, so
that the example needs no network and goes the same way each time.
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agents import Worker

from remit import MCPServerManager

PART = "cart"

Turn = tuple[str, Mapping[str, object]]
"""A tool that the model asks for, and with what."""


class LangChainWorker(Worker):
    """As any worker, but that a model chooses the tools for one part."""

    async def work(self, task: Mapping[str, Any]) -> None:
        """Do one task."""
        if task["title"] != PART:
            await super().work(task)
            return
        is_new = task["state"] == "ASSIGNED"
        url, key = os.environ["GATEWAY"], os.environ["REMIT_KEY"]
        server = {"url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {key}"}}
        settings: Any = SimpleNamespace(mcp_servers={"remit": {"transport": "http", **server}})
        workspace: Any = SimpleNamespace(context={"mcp_policy": {}})
        async with MCPServerManager(settings, workspace) as manager:
            tools = [*await manager.get_tools(), _write_file(self.clone)]
            agent = import_module("langchain.agents").create_agent(
                _model(_turns(self.clone.name, self.code(PART, is_first=is_new), is_new)), tools
            )
            end = await agent.ainvoke({"messages": [("user", task["description"])]})
        failed = [
            each.content for each in end["messages"] if getattr(each, "status", "") == "error"
        ]
        if failed:
            raise AssertionError(f"the agent failed at something: {failed}")


def _turns(clone: str, code: str, is_new: bool) -> Sequence[Turn]:
    where = {"repo_path": clone}
    begin: list[Turn] = [
        ("remit__task__update_status", {"state": "IN_PROGRESS"}),
        ("remit__git__git_checkout", {"branch_name": "main", **where}),
        ("remit__git__git_checkout", {"branch_name": f"part/{PART}", "create": True, **where}),
    ]
    build: list[Turn] = [
        ("write_file", {"name": f"{PART}.py", "text": code}),
        ("remit__git__git_commit", {"message": f"Add {PART}", "paths": [f"{PART}.py"], **where}),
        ("remit__git__git_push", where),
        ("remit__task__update_status", {"state": "REVIEW", "branchName": f"part/{PART}"}),
    ]
    return [*begin, *build] if is_new else build


def _write_file(folder: Path) -> Any:
    async def write(name: str, text: str) -> str:
        """Write a file of the part."""
        (folder / name).write_text(text)
        return f"{name} is written"

    made: Any = import_module("langchain_core.tools").StructuredTool
    return made.from_function(coroutine=write, name="write_file")


def _model(turns: Sequence[Turn]) -> Any:
    """Return an offline model that asks for these tools, one after the other."""
    message: Any = import_module("langchain_core.messages").AIMessage
    base: Any = import_module(
        "langchain_core.language_models.fake_chat_models"
    ).GenericFakeChatModel

    class Model(base):
        def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
            del tools, options
            return self

    asking = [
        message("", tool_calls=[{"name": name, "args": dict(given), "id": str(number)}])
        for number, (name, given) in enumerate(turns)
    ]
    return Model(messages=iter([*asking, message("It is handed in.")]))
