"""An agent of Agno as a server behind remit: who may ask it, what it may do, and what is recorded.

    make example NAME=agent-as-server

The agent, its framework, the gateway, the git server and the repository are real; the model of the
agent is a script.
"""

import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import anyio

from remit.client import AsyncClient
from remit.errors import CallRefused
from remit.testing.gateway import Running, free_port, run_remit, start_gateway

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
ROLES = ("lead", "researcher")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def agno() -> Path:
    """Return the Python of the environment that Agno is in; it is installed once."""
    done = subprocess.run(
        [REPOSITORY / "scripts" / "framework-tools", "all"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the agent frameworks are not here: {done.stderr[-500:]}")
    return REPOSITORY / ".tools" / "frameworks" / "all" / "bin" / "python"


def prepare(folder: Path) -> dict[str, str]:
    """Make a repository with some history in *folder*, and a key for each role."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.test")
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        (*who, "commit", "--quiet", "--allow-empty", "-m", "Tell whether the service is up"),
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "remit.yaml").write_text((HERE / "remit.yaml").read_text())
    keys: dict[str, str] = {}
    for role in ROLES:
        made = run_remit("keys", "create", role, "--role", role, "--json", folder=folder)
        if made.returncode:
            raise SystemExit(made.stderr)
        keys[role] = json.loads(made.stdout)["key"]
    return keys


async def ask_around(gateway: Running, keys: Mapping[str, str]) -> str:
    """Ask as the lead, three times; return who asked, for the record."""
    member = str(uuid4())
    meta = {"remit/member": member}
    async with AsyncClient(gateway.base, key=keys["lead"], timeout=180, meta=meta) as lead:
        say(f"the lead may use: {', '.join([tool.name for tool in await lead.list_tools()])}")
        for prompt in ("Tell me the history", "Please commit it all"):
            say(f"\nlead asks: {prompt}")
            result = await lead.call_tool(
                "researcher__ask",
                {"prompt": prompt},
                progress=lambda _done, _total, word: say(f"  meanwhile: {word}"),
            )
            say(f"  researcher answers: {' '.join(result.text.split())[:500]}")
        say("\nlead looks for itself")
        try:
            await lead.call_tool("git__git_log")
        except CallRefused as refusal:
            say(f"  refused: {refusal.reason}")
    return member


def tell(rows: list[dict[str, Any]]) -> None:
    """Read what the record has of this member, oldest first."""
    say("\nthe record of it (remit audit search --text MEMBER)")
    for row in reversed(rows):
        what = f"{row['server']}/{row['tool']}" if row["server"] else row["tool"]
        how = row["rule"] if row["decision"] == "allow" else "refused"
        say(f"  {row['principal']} {what}: {how}")


@contextmanager
def workplace() -> Generator[Path]:
    """Give the folder of the first argument, or one that is gone afterwards."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        yield folder.resolve()
    else:
        with TemporaryDirectory(prefix="agent-as-server-") as made:
            yield Path(made)


def main() -> None:
    """Start a gateway with an agent behind it, ask the agent, and read the record."""
    python = agno()
    with workplace() as folder:
        keys, port = prepare(folder), free_port()
        environ = {
            "AGNO_PYTHON": str(python),
            "RESEARCHER": str(HERE / "researcher.py"),
            "RESEARCHER_KEY": keys["researcher"],
            "GATEWAY": f"http://127.0.0.1:{port}",
        }
        gateway = start_gateway(folder, folder / "remit.yaml", environ, port=port)
        try:
            member = anyio.run(ask_around, gateway.settle(), keys)
            tell(gateway.audit("--text", member))
        finally:
            gateway.stop()


if __name__ == "__main__":
    main()
