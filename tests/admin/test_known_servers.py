"""What is known of servers by the command that starts them: R16, R30."""

import json
from pathlib import Path

import pytest

from remit.admin.known_servers import (
    bundled_servers,
    hints_by,
    known_builtins,
    offered_by,
    unclaimed_package,
)
from remit.admin.launches import Launch, Named, read_launch
from remit.model.servers import ServerConfig, Transport
from remit.policy.agent_types import CREW_TOOLS
from remit.policy.toolsets import LOADOUTS

GIT = Named("python", "mcp-server-git")
FILES = Named("npm", "@modelcontextprotocol/server-filesystem")


def started(line: str) -> Launch:
    command, *args = line.split()
    return read_launch(command, args)


def config(line: str, *, allow_unclaimed: bool = False) -> ServerConfig:
    command, *args = line.split()
    return ServerConfig(
        name="s", command=command, args=tuple(args), allow_unclaimed=allow_unclaimed
    )


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("uvx mcp-server-git", GIT),
        ("uvx mcp_server.Git", GIT),
        ("/opt/bin/uvx mcp-server-git --repository .", GIT),
        ("uvx mcp-server-git@latest", GIT),
        ("uvx mcp-server-git==2026.10.19", GIT),
        ("uvx --from mcp-server-git[extra]>=2026 anything", GIT),
        ("uvx --from=mcp-server-git anything", GIT),
        ("uvx --python 3.12 -q mcp-server-git", GIT),
        ("uvx -- mcp-server-git", GIT),
        ("uv tool run mcp-server-git", GIT),
        ("uv run mcp-server-git", Named("script", "mcp-server-git")),
        ("uv run --directory /srv -m mcp_server_git", Named("module", "mcp_server_git")),
        ("uv run python -m mcp_server_git", Named("module", "mcp_server_git")),
        ("pipx run mcp-server-git", GIT),
        ("pipx run --spec mcp-server-git==1 anything", GIT),
        ("npx -y @modelcontextprotocol/server-filesystem@1.2 /tmp", FILES),
        ("npx --yes @modelcontextprotocol/server-filesystem /tmp", FILES),
        ("npx -p @modelcontextprotocol/server-filesystem mcp-server-filesystem", FILES),
        ("npx --package=@modelcontextprotocol/server-filesystem x", FILES),
        ("npm exec -y -- @modelcontextprotocol/server-filesystem", FILES),
        ("pnpm dlx @modelcontextprotocol/server-filesystem", FILES),
        ("bunx @modelcontextprotocol/server-filesystem", FILES),
        ("bun x @modelcontextprotocol/server-filesystem", FILES),
        (r"C:\node\npx.cmd -y @modelcontextprotocol/server-filesystem", FILES),
        ("cmd /c npx -y @modelcontextprotocol/server-filesystem", FILES),
        ("env DEBUG=1 npx @modelcontextprotocol/server-filesystem", FILES),
        ("node /x/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", FILES),
        ("python -m mcp_server_git", Named("module", "mcp_server_git")),
        ("/venv/bin/python3.11 -u -X dev -mmcp_server_git", Named("module", "mcp_server_git")),
        ("py -m mcp_server_git", Named("module", "mcp_server_git")),
        ("mcp-server-git", Named("script", "mcp-server-git")),
        ("/venv/bin/mcp-server-git --repository .", Named("script", "mcp-server-git")),
        (r"C:\venv\Scripts\mcp-server-git.exe", Named("script", "mcp-server-git")),
    ],
)
def test_a_program_is_recognised_however_people_start_it(line: str, program: Named) -> None:
    assert started(line).program == program


@pytest.mark.parametrize(
    "line",
    [
        "uvx",
        "uvx --from git+https://example.test/x mcp-server-git",
        "uvx --from ./local mcp-server-git",
        "uvx --from",
        "npx -y ./local",
        "npx github:user/mcp-server-git",
        "npx",
        "python server.py",
        "python -m",
        "python",
        "node",
        "node server.js",
        "pipx run",
        "uv run",
        "cmd /c",
        "env A=1",
    ],
)
def test_what_cannot_be_told_is_not_guessed(line: str) -> None:
    launch = started(line)

    assert launch.program is None
    assert launch.fetched == ()


def test_the_tools_of_the_published_git_server_are_known_without_starting_it(shared: Path) -> None:
    # R16: the names are facts, checked against what the servers really answered.
    recorded = shared / "tools"
    for line, file in {
        "uvx mcp-server-git": "mcp-server-git.json",
        "mcp-server-time": "mcp-server-time.json",
        "python -m mcp_server_fetch": "mcp-server-fetch.json",
        "npx -y @modelcontextprotocol/server-filesystem": "npm-server-filesystem.json",
        "npx -y @modelcontextprotocol/server-github": "npm-server-github.json",
    }.items():
        answer = json.loads((recorded / file).read_text())
        names = {tool["name"] for tool in answer["tools"]}
        assert offered_by(config(line)) == names


def test_what_published_tools_claim_is_what_their_servers_answered(shared: Path) -> None:
    recorded = shared / "tools"
    for line, file in {
        "uvx mcp-server-git": "mcp-server-git.json",
        "npx -y @modelcontextprotocol/server-filesystem": "npm-server-filesystem.json",
        "npx -y @modelcontextprotocol/server-everything": "npm-server-everything.json",
        "npx -y @modelcontextprotocol/server-github": "npm-server-github.json",
        "npx -y @cyanheads/git-mcp-server": "npm-cyanheads-git-mcp-server.json",
        "uvx mcp-atlassian": "mcp-atlassian-full.json",
    }.items():
        answer = json.loads((recorded / file).read_text())
        claimed = hints_by(config(line))
        assert claimed is not None
        for tool in answer["tools"]:
            said: dict[str, object] = tool.get("annotations") or {}
            reads = said.get("readOnlyHint") is True
            adds = not reads and said.get("destructiveHint") is False
            hints = claimed[tool["name"]]
            assert (hints.read_only is True, hints.destructive is False) == (reads, adds)


def test_the_published_git_server_lacks_three_names_and_our_own_has_nine() -> None:
    # S0.3, R30
    published = offered_by(config("uvx mcp-server-git")) or frozenset()
    own = offered_by(ServerConfig(name="git", transport=Transport.BUILTIN, builtin="git"))

    assert len(published) == 12
    assert own is not None
    assert len(own) == 9
    assert own - published == {"git_push", "git_pull", "git_merge"}


def test_names_that_the_declaration_gives_to_known_tools_are_offered_as_well() -> None:
    # R30
    mapped = ServerConfig(
        name="git",
        command="mcp-server-git",
        tool_names={"save": "git_commit", "push": "git_push"},
    )

    offered = offered_by(mapped) or frozenset()

    assert "save" in offered
    assert "push" not in offered


@pytest.mark.parametrize(
    "server",
    [
        ServerConfig(name="s", command="uvx", args=("unheard-of",)),
        ServerConfig(name="s", transport=Transport.HTTP, url="https://a.test/mcp-server-git"),
        ServerConfig(name="s", command="npx", args=("-y", "mcp-server-git")),
    ],
)
def test_of_unknown_servers_nothing_is_claimed(server: ServerConfig) -> None:
    assert offered_by(server) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("uvx mcp-server-github", "nobody has claimed"),
        ("uvx mcp_server_github@1.0", "nobody has claimed"),
        ("uvx --from mcp-server-filesystem x", "nobody has claimed"),
        ("uvx --with mcp-server-github mcp-server-git", "nobody has claimed"),
        ("uv run --with mcp-server-github python x.py", "nobody has claimed"),
        ("pipx run mcp-server-filesystem", "nobody has claimed"),
        ("uvx mcp-server-brave-search", "empty reservation"),
        ("npx -y mcp-server-brave-search", "nobody stands behind"),
    ],
)
def test_a_package_name_that_nobody_stands_behind_is_reported(line: str, words: str) -> None:
    assert words in (unclaimed_package(config(line)) or "")


@pytest.mark.parametrize(
    "server",
    [
        config("uvx mcp-server-git"),
        config("uvx mcp-server-github", allow_unclaimed=True),
        # Programs that are installed already: no registry is asked for them.
        config("mcp-server-github"),
        config("python -m mcp_server_github"),
        config("npx -y @modelcontextprotocol/server-github"),
        config("uvx --from ./mine mcp-server-github"),
        ServerConfig(name="s", transport=Transport.BUILTIN, builtin="github"),
    ],
)
def test_other_packages_and_those_that_are_allowed_are_not_reported(server: ServerConfig) -> None:
    assert unclaimed_package(server) is None


def test_the_bundled_servers_are_known() -> None:
    assert {"git", "github", "jira", "data", *CREW_TOOLS} == known_builtins()


def test_every_bundled_server_says_what_it_is_for() -> None:
    assert {one.name for one in bundled_servers() if one.about and one.tools} == known_builtins()


def test_the_tools_of_the_data_server_are_those_of_its_toolsets() -> None:
    server = ServerConfig(name="s", transport=Transport.BUILTIN, builtin="data")

    assert offered_by(server) == frozenset(LOADOUTS)
