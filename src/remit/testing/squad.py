"""Where a squad of nine roles works: a repository and its remote, a GitHub, a Jira, and remit."""

import json
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from remit.admin.default_roles import default_document
from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Running, start_gateway
from remit.testing.github_fake import TOKENS, GitHubFake, open_github_fake
from remit.testing.jira_fake import is_jira_here, open_jira

PROJECT, BOARD, PERSON = "SHOP", "SHOP Scrum", "u01"
"""What the fake Jira begins with: a project, its board with an active sprint, one of its people."""

UNDER_WAY, DONE = "In Progress", "Done"
"""Statuses of a ticket."""

JIRA_TOKEN = "fake-token-of-jira"  # noqa: S105 - the fake takes any


class Tickets:
    """The fake Jira, asked past everything that is being tested.

    Args:
        url: Where it listens.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def make_ticket(self, summary: str) -> str:
        """Make a ticket and return its key."""
        fields = {"project": {"key": PROJECT}, "issuetype": {"name": "Task"}, "summary": summary}
        return self.ask("POST", "/rest/api/2/issue", fields=fields)["key"]

    def ask(self, method: str, path: str, **body: object) -> Any:
        """Make a request and return the JSON."""
        reply = httpx2.request(
            method, f"{self.url}{path}", json=body or None, timeout=60, verify=TRUSTS_NOBODY
        )
        if not reply.is_success:
            raise AssertionError(f"{method} {path}: {reply.status_code} {reply.text[:500]}")
        return reply.json() if reply.content else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Squad:
    """What the agents of a squad meet.

    Attributes:
        work: The working copy that the git server is fenced to.
        remote: The bare repository that it pushes to.
        repository: Its name on GitHub.
    """

    work: Path
    remote: Path
    repository: str
    github: GitHubFake
    jira: Tickets
    gateway: Running

    def mirror(self, branch: str) -> None:
        """Tell the fake GitHub of a pushed branch: it keeps repositories, but takes no push."""
        changed = git(self.remote, "diff", "--name-only", f"main...{branch}").split()
        files = {path: git(self.remote, "show", f"{branch}:{path}") for path in changed}
        self.github.make_branch(self.repository, branch, files)


@contextmanager
def open_squad(folder: Path) -> Generator[Squad | None]:
    """Set everything up in *folder*, and clear it away at the end; None where a fake is missing."""
    with ExitStack() as stack:
        github = stack.enter_context(open_github_fake(folder))
        if github is None or not is_jira_here():
            yield None
            return
        jira = Tickets(stack.enter_context(open_jira(folder, PROJECT)))
        remote, work = make_repositories(folder)
        repository = github.make_repository("orders")
        config = folder / "remit.yaml"
        config.write_text(json.dumps(declaration(work, github, repository, jira), indent=2))
        # What is secret comes from the environment, as in the example of nine roles (S0.13).
        environ = {
            "GITHUB_TOKEN": TOKENS["ada"],
            "JIRA_API_TOKEN": JIRA_TOKEN,
        }
        gateway = start_gateway(folder, config, environ).settle()
        stack.callback(gateway.stop)
        yield Squad(
            work=work, remote=remote, repository=repository, github=github, jira=jira,
            gateway=gateway,
        )  # fmt: skip


def declaration(
    work: Path, github: GitHubFake, repository: str, jira: Tickets
) -> dict[str, object]:
    """Return the nine roles as they ship, and the three servers of this place."""
    servers = {
        "git": {"builtin": "git", "args": ["--repository", str(work)]},
        "github": {
            "builtin": "github",
            "env": {
                "GITHUB_TOKEN": "${GITHUB_TOKEN}",
                "GITHUB_API_URL": github.url,
                "GITHUB_REPOSITORY": repository,
            },
        },
        "jira": {
            "builtin": "jira",
            "env": {
                "JIRA_URL": jira.url,
                "JIRA_USERNAME": "",
                "JIRA_API_TOKEN": "${JIRA_API_TOKEN}",
            },
        },
    }
    return {"version": "1.0", "mcp_servers": servers, "roles": default_document()["roles"]}


def make_repositories(folder: Path) -> tuple[Path, Path]:
    """Make a bare remote with one commit and a working copy of it; return both."""
    remote, work = folder / "orders.git", folder / "orders"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    git(folder, "clone", "--quiet", str(remote), str(work))
    git(work, "checkout", "--quiet", "-B", "main")
    git(work, "config", "user.name", "Squad")
    git(work, "config", "user.email", "squad@example.test")
    (work / "README.md").write_text("# Orders\n")
    git(work, "add", "README.md")
    git(work, "commit", "--quiet", "--message", "Describe the service")
    git(work, "push", "--quiet", "--set-upstream", "origin", "main")
    return remote, work


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it printed."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout
