# pyright: basic, reportMissingImports=false
# Agno is in an environment of its own, which the type checker does not see.
"""Three agents of Agno share a repository, each with the tools of its role.

    make example NAME=agno-squad

The models are scripts, so that nothing leaves the machine; agents, tools, repository and record are
real.
"""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agno.models.base import Model
from agno.models.response import ModelResponse
from squad_agent import AgnoSquadAgent

BRANCH = "feature/health"
CODE = 'def health():\n    return {"status": "ok"}\n'
PERSON = ("-c", "user.name=Squad", "-c", "user.email=squad@example.test")


class Scripted(Model):
    """Makes the calls it was told, one a turn, and then says that it is done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        super().__init__(id="scripted")
        self._calls = list(calls)

    async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Take the next turn."""
        if not self._calls:
            return ModelResponse(role="assistant", content="done")
        name, arguments = self._calls.pop(0)
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call{len(self._calls)}", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    def invoke(self, *_: Any, **__: Any) -> Any:
        """Refuse: the agents here await."""
        raise NotImplementedError

    invoke_stream = ainvoke_stream = invoke
    _parse_provider_response = _parse_provider_response_delta = invoke


async def work(folder: Path) -> None:
    """Let each member do its part, and try what is another's."""
    config = folder / "remit.yaml"
    developer = Scripted(
        ("git__git_checkout", {"branch_name": BRANCH, "create": True}),
        ("git__git_commit", {"message": "Tell whether the service is up", "paths": ["health.py"]}),
        ("git__git_merge", {"branch_name": BRANCH}),
    )
    designer = Scripted(
        ("git__git_log", {"max_count": 1}),
        ("git__git_commit", {"message": "Mine", "all": True}),
    )
    lead = Scripted(
        ("git__git_diff", {"target": f"main..{BRANCH}"}),
        ("git__git_checkout", {"branch_name": "main"}),
        ("git__git_merge", {"branch_name": BRANCH}),
        ("git__git_commit", {"message": "A shortcut", "all": True}),
    )
    tasks = [
        ("backend_developer", developer, "Build the health check"),
        ("designer", designer, "Look at what is new"),
        ("tech_lead", lead, "Review the branch, and merge it"),
    ]
    for role, model, task in tasks:
        async with AgnoSquadAgent(role, config=config, model=model) as agent:
            run = await agent.process(task)
        for message in run.messages or []:
            if message.role == "tool":
                say(role, message)


def say(role: str, message: Any) -> None:
    """Print a call and how it ended."""
    text = str(message.content).strip().splitlines()[0][:80]
    failed = message.tool_call_error or text.startswith("Error:")
    outcome = "refused" if failed else "ok"
    sys.stdout.write(f"{role:<18} {message.tool_name:<18} {outcome:<8} {text}\n")


def main(folder: Path) -> None:
    """Make a repository in *folder*, let the squad work, and show the record."""
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        (*PERSON, "commit", "--quiet", "--allow-empty", "--message", "First commit"),
        ("config", "user.name", "Squad"),
        ("config", "user.email", "squad@example.test"),
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "health.py").write_text(CODE)
    shutil.copy(Path(__file__).with_name("remit.yaml"), folder)
    asyncio.run(work(folder))
    sys.stdout.write("\nthe record, newest first:\n")
    sys.stdout.flush()
    record = [sys.executable, "-m", "remit", "audit", "search"]
    subprocess.run(record, cwd=folder, check=True)


if len(sys.argv) > 1:
    main(Path(sys.argv[1]))
else:
    with TemporaryDirectory() as made:
        main(Path(made))
