"""A crew builds something small in a real git repository, and its decision log tells the story.

    make example NAME=crew

The host, which is this program, starts a gateway and five agents as processes of their own. It
kills one of them, answers as the human, and changes nothing else.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import anyio
import httpx2
from anyio import to_thread
from story import told

from remit.testing.gateway import Running, start_gateway
from remit.testing.upstream import fixture_server_config

AGENTS = Path(__file__).with_name("agents.py")
CREW = ("mail", "agent", "system", "task", "epic", "orchestrator", "supervisor")
CLONES = ("lead", "w1", "w2", "w3")
WORKERS = CLONES[1:]
FRAMEWORKS = Path(__file__).parents[2] / ".tools" / "frameworks" / "all" / "bin" / "python"
"""What `scripts/framework-tools` makes; one worker is a LangChain agent if it is there."""

PATIENCE = 120
"""Seconds that the whole may take; it takes a tenth of that."""

ROLES = {
    "lead": {"allow": ["git/git_pull", "git/git_push"]},
    "builder": {
        "allow": ["git/git_checkout", "git/git_commit", "git/git_push", "deploy/preview"],
    },
}

Found = TypeVar("Found")


@dataclass(slots=True)
class Host:
    """Where the agents run: the gateway, the repositories, and their processes.

    Attributes:
        admin: The API, as the administrator, who is the human.
        programs: Agent to its process.
    """

    folder: Path
    gateway: Running
    admin: httpx2.Client
    programs: dict[str, subprocess.Popen[str]] = field(
        default_factory=dict[str, "subprocess.Popen[str]"]
    )

    def register(self, agent: str, type_: str, role: str | None = None) -> None:
        """Register an agent."""
        self.send("POST", "/agents", {"id": agent, "type": type_, "role": role})

    def start(self, agent: str, *arguments: str) -> None:
        """Give an agent a key, and start its program with that."""
        made = self.send("POST", "/keys", {"name": f"key-of-{agent}", "agent": agent})
        python = str(FRAMEWORKS) if "langchain" in arguments else sys.executable
        environ = {
            **os.environ,
            "GATEWAY": self.gateway.base,
            "AGENT": agent,
            "REMIT_KEY": made["key"],
            "WORKSHOP": str(self.folder),
        }
        self.programs[agent] = subprocess.Popen(
            [python, str(AGENTS), *arguments],
            env=environ,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def line(self, agent: str) -> Sequence[str]:
        """Return the words of the next line that an agent's program writes."""
        pipe = self.programs[agent].stdout
        if pipe is None:
            raise AssertionError(f"{agent} writes nowhere")
        return (await to_thread.run_sync(pipe.readline)).split()

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Ask the API of the gateway, and return what it says."""
        reply = self.admin.request(method, f"/api/v1{path}", json=body)
        if not reply.is_success:
            raise AssertionError(f"{method} {path}: {reply.status_code} {reply.text}")
        return reply.json()

    def inbox(self) -> Sequence[Mapping[str, Any]]:
        """Return the human's mail, oldest first."""
        return list(reversed(self.send("GET", "/inbox?all=true")["items"]))


async def until(find: Callable[[], Found | None]) -> Found:
    """Return what is found, once it is."""
    while True:
        found = find()
        if found is not None:
            return found
        await anyio.sleep(0.1)


async def run(host: Host) -> None:
    """Let the crew work, and do what a host and a human have to."""
    host.register("s1", "SUPERVISOR")
    for worker in WORKERS:
        host.register(worker, "WORKER", "builder")
    host.start("s1", "supervisor")
    _, epic, orchestrator = await host.line("s1")
    say(f"the supervisor has made the epic {epic}; its orchestrator gets a program")
    etag = {"If-Match": "*"}
    host.admin.patch(f"/api/v1/agents/{orchestrator}", json={"role": "lead"}, headers=etag)
    host.start(orchestrator, "orchestrator", epic, *WORKERS)
    for worker in WORKERS:
        with_model = worker == "w2" and FRAMEWORKS.exists()
        host.start(worker, "langchain" if with_model else "worker", str(host.folder / worker))
        if with_model:
            say("w2 is a LangChain agent with an offline model")

    _, part = await host.line("w3")
    host.programs["w3"].kill()
    host.programs["w3"].wait()
    host.gateway.remit("agents", "crashed", "w3")
    say(f"w3 hung at the {part}, and was killed; its task is taken back")

    question = await until(lambda: _mail(host, "Which currency?"))
    host.send("POST", f"/inbox/{question['id']}/reply", {"body": "EUR"})
    say(f"{question['sender']} asked the human: {question['subject']} EUR, says the human")
    failed = await until(lambda: _mail(host, "⚠️ CRITICAL"))
    host.send("POST", f"/inbox/{failed['id']}/read")
    say(f"the human hears of a failure: {failed['subject']}")

    for agent, program in host.programs.items():
        status = await to_thread.run_sync(program.wait)
        if agent != "w3" and status:
            raise AssertionError(f"{agent} ended with {status}")


def _mail(host: Host, subject: str) -> Mapping[str, Any] | None:
    return next((mail for mail in host.inbox() if mail["subject"].startswith(subject)), None)


def tell(host: Host) -> None:
    """Tell what became of it, and the decision log as a story."""
    log = git(host.folder / "shop.git", "log", "--format=%s", "--reverse", "--no-merges", "main")
    say(f"\nmerged: {', '.join(log.splitlines()[1:])}")
    say("\nthe decision log tells it:")
    rows = host.send("GET", "/audit/decisions?limit=1000")["items"]
    for line in told(rows):
        say(line)
    calls = sum(row["decision"].startswith("Invoked tool") for row in rows)
    say(f"\n{calls} calls, each in the log with what it was given and what came of it")


@contextmanager
def open_host(folder: Path) -> Generator[Host]:
    """Make the repositories and start the gateway in *folder*; nothing of it runs on afterwards."""
    make_repositories(folder)
    config = folder / "remit.yaml"
    config.write_text(json.dumps(declaration(folder), indent=2))
    with ExitStack() as stack:
        gateway = start_gateway(folder, config).settle()
        stack.callback(gateway.stop)
        admin = stack.enter_context(
            httpx2.Client(
                base_url=gateway.base,
                headers={"Authorization": f"Bearer {gateway.admin_key}"},
                timeout=60,
            )
        )
        host = Host(folder, gateway, admin)
        stack.callback(end, host.programs)
        yield host


def end(programs: Mapping[str, "subprocess.Popen[str]"]) -> None:
    """End the programs that still run."""
    for program in programs.values():
        program.kill()
        program.wait()
        if program.stdout is not None:
            program.stdout.close()


def declaration(folder: Path) -> dict[str, object]:
    """Return what this place declares: the crew, git, and a server that breaks when it is used."""
    breaks = fixture_server_config(
        "deploy", [{"name": "preview", "x-fixture": {"exit": 1}}], folder / "previews.jsonl"
    )
    servers: dict[str, object] = {name: {"builtin": name} for name in CREW}
    servers["git"] = {"builtin": "git", "args": ["--root", str(folder)]}
    servers["deploy"] = {
        "command": breaks.command,
        "args": list(breaks.args),
        "tools": {"preview": {"critical": True}},
    }
    return {"version": "1.0", "mcp_servers": servers, "roles": ROLES}


def make_repositories(folder: Path) -> None:
    """Make a bare repository with one commit, and a clone of it for everybody who writes."""
    remote = folder / "shop.git"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    for clone in CLONES:
        git(folder, "clone", "--quiet", str(remote), clone)
        git(folder / clone, "checkout", "--quiet", "-B", "main")
        git(folder / clone, "config", "user.name", clone)
        git(folder / clone, "config", "user.email", f"{clone}@example.test")
        if clone == "lead":
            (folder / clone / "README.md").write_text("# Shop\n")
            git(folder / clone, "add", "README.md")
            git(folder / clone, "commit", "--quiet", "--message", "Describe the shop")
            git(folder / clone, "push", "--quiet", "--set-upstream", "origin", "main")
        else:
            git(folder / clone, "pull", "--quiet", "origin", "main")


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it printed."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(folder: Path) -> None:
    """Run the example in *folder*."""
    with open_host(folder) as host:
        with anyio.fail_after(PATIENCE):
            await run(host)
        tell(host)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        anyio.run(main, Path(sys.argv[1]).absolute())
    else:
        with TemporaryDirectory(prefix="remit-crew-") as place:
            anyio.run(main, Path(place))
