"""How the commands about callers are used, and misused: one line and a status, no traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from remit.cli.main import app
from remit.testing.gateway import environment

QUERY, OTHER = "01a2251b-dda5-79c0-817b-0b7c51feb48b", "01a2251b-dda5-79c0-817b-0b7c51feb48c"
DOCUMENT = """\
mcp_servers: {tools: {url: "https://tools.example.test/mcp"}}
roles: {worker: {allow: ["tools/*"]}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "remit.yaml"
    path.write_text(DOCUMENT)
    return path


def remit(config: Path, *arguments: str) -> typer.testing.Result:
    return typer.testing.CliRunner().invoke(app, [*arguments, "--config", str(config)])


@pytest.mark.parametrize(
    ("subject", "status", "said"),
    [
        ("user:bob", 1, "without the claims of a token"),
        ("user-role:data", 1, ""),
        ("agent-type:WORKER", 1, ""),
        ("role:worker", 0, ""),
        ("agent:w9", 2, "no agent 'w9' is known; agents: none"),
        ("user-role:boss", 2, "user roles: user, admin, data, developer"),
        ("agent-type:BOSS", 2, "agent types: SUPERVISOR, ORCHESTRATOR, WORKER"),
        ("role:boss", 2, "declared roles: worker"),
        ("key:nobody", 2, "no key 'nobody' holds"),
        ("member:x", 2, "write role:NAME, user:NAME"),
        ("user:", 2, "is no subject"),
        ("worker", 2, "is no subject"),
    ],
)
def test_each_spelling_of_a_subject_is_understood(
    subject: str, status: int, said: str, config: Path
) -> None:
    done = remit(config, "explain", "--as", subject, "tools/work")

    assert (done.exit_code, said in done.stderr) == (status, True)


def test_an_agent_and_its_key_are_the_same_caller(config: Path) -> None:
    remit(config, "agents", "create", "w1", "--type", "WORKER", "--role", "worker")
    remit(config, "keys", "create", "w1-key", "--agent", "w1")

    for subject in ("agent:w1", "key:w1-key"):
        assert remit(config, "explain", "--as", subject, "tools/work").exit_code == 0


def test_an_agent_that_was_at_no_work_loses_none_when_its_program_ends(config: Path) -> None:
    remit(config, "agents", "create", "w1", "--type", "WORKER")

    assert "was at no work" in remit(config, "agents", "crashed", "w1").stdout
    told = json.loads(remit(config, "agents", "crashed", "w1", "--json").stdout)
    assert told == {"id": "w1", "task": None}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("inbox --json list", 2, "stand behind 'list'"),
        ("keys create k", 2, "say what the key is for"),
        ("keys create k --role worker --admin", 2, "only a role and a user role"),
        ("keys create k --admin --auditor", 2, "--agent ID, --admin or --auditor"),
        ("keys create k --role worker --query q", 2, "add --service"),
        ("keys create k --service --query not-a-uuid", 2, "'not-a-uuid' is no id of a query"),
        ("keys create k --agent w9", 2, "there is no agent 'w9'"),
        ("keys create k --role worker --act-for w9", 2, "agents: none; `remit agents create`"),
        ("keys create k --act-for w9", 2, "--act-for goes beside it"),
        ("keys create k --role boss", 2, "no role 'boss' is declared; declared roles: worker"),
        ("keys create k --role developer", 2, "is a user role (--user-role)"),
        ("agents create w1 --type WORKER --role boss", 2, "declared roles: worker"),
        ("keys create k --user-role boss", 2, "a user role is one of"),
        ("keys rotate k", 2, "no key named 'k' is in use"),
        ("agents create w1 --type BOSS", 2, "SUPERVISOR, ORCHESTRATOR, WORKER"),
        ("agents change w1", 2, "there is no agent 'w1'"),
        ("users disable \u0007", 2, "can be no user's name"),
        ("users enable ann", 1, "'ann' is not disabled"),
        ("token issue --sub \u0007", 2, "does not do as the name"),
        ("token issue --sub a --expires 2020-01-01", 2, "already have expired"),
    ],
)
def test_a_wrong_use_ends_with_one_line(
    arguments: str, status: int, said: str, config: Path
) -> None:
    done = remit(config, *arguments.split(" "))

    assert (done.exit_code, done.stderr.count("\n")) == (status, 1)
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stdout == ""


def test_a_disabled_user_can_do_nothing(config: Path) -> None:
    remit(config, "users", "disable", "ann")

    done = remit(config, "explain", "--as", "user:ann", "tools/work")

    assert (done.exit_code, "`remit users enable ann`" in done.stdout) == (1, True)


def test_whoever_ends_the_last_administrators_key_is_told(config: Path) -> None:
    for name in ("first", "second"):
        remit(config, "keys", "create", name, "--admin")

    one = remit(config, "keys", "revoke", "first")
    last = remit(config, "keys", "revoke", "second")

    assert (one.exit_code, one.stderr) == (0, "")
    assert (last.exit_code, "keys create NAME --admin" in last.stderr) == (0, True)


def test_an_agent_says_where_it_runs_and_its_epic_has_one_orchestrator(config: Path) -> None:
    """S3.31."""
    create = ("agents", "create", "o1", "--type", "ORCHESTRATOR", "--epic", "e1")
    made = json.loads(remit(config, *create, "--tmux-session", "remit:1", "--json").stdout)
    remit(config, "agents", "change", "o1", "--role", "worker")
    (listed,) = json.loads(remit(config, "agents", "list", "--json").stdout)
    remit(config, "agents", "change", "o1", "--tmux-session", "")
    (cleared,) = json.loads(remit(config, "agents", "list", "--json").stdout)
    noted = remit(config, "agents", "change", "o1", "--role", "")
    worker = remit(config, "agents", "create", "w1", "--type", "WORKER", "--epic", "e1")
    second = remit(config, "agents", "create", "o2", *create[3:])

    assert made["tmux_session"] == listed["tmux_session"] == "remit:1"
    assert (cleared["tmux_session"], cleared["epic"]) == (None, "e1")
    assert (noted.exit_code, "note: there is no epic 'e1'" in noted.stderr) == (0, True)
    assert (worker.exit_code, worker.stderr) == (0, "")
    assert (second.exit_code, "has an orchestrator already, 'o1'" in second.stderr) == (1, True)


def test_a_list_of_keys_says_what_each_is_for(config: Path) -> None:
    remit(config, "agents", "create", "w1", "--type", "WORKER")
    for name, purpose in {
        "ci": "--role worker --user-role data",
        "report": f"--service --query {QUERY} --query {OTHER}",
        "w1-key": "--agent w1",
        "boss": "--role worker --act-for w1",
        "root": "--admin",
        "eye": "--auditor",
    }.items():
        remit(config, "keys", "create", name, *purpose.split(" "))
    remit(config, "keys", "rotate", "w1-key", "--overlap", "60")

    shown = remit(config, "keys", "list").stdout

    for words in (
        "role worker, user role data",
        f"service, query {QUERY}, query {OTHER}",
        "agent w1",
        "role worker, acting for w1",
        "administration",
        "auditing",
        "ending",
    ):
        assert words in shown
    listed = json.loads(remit(config, "keys", "list", "--json").stdout)
    assert [key["act_for"] for key in listed if key["name"] in ("ci", "boss")] == [[], ["w1"]]


def test_a_token_for_a_role_that_nobody_declared_is_made_with_a_note(config: Path) -> None:
    done = remit(config, "token", "issue", "--sub", "dev", "--role", "boss")

    assert done.exit_code == 0
    assert done.stdout.count(".") == 2
    assert "'boss' in roles is unknown here" in done.stderr


def test_a_key_file_that_is_no_key_is_not_overwritten(config: Path) -> None:
    path = config.parent / ".remit" / "token-issuer.jwk"
    path.parent.mkdir()
    path.write_text("{}")

    done = remit(config, "token", "issue", "--sub", "dev")

    assert (done.exit_code, path.read_text()) == (3, "{}")
    assert "remove it to have it made anew" in done.stderr


def test_who_can_names_agents_and_their_keys(config: Path) -> None:
    remit(config, "agents", "create", "w1", "--type", "WORKER", "--role", "worker")
    remit(config, "agents", "create", "w2", "--type", "WORKER")
    for agent in ("w1", "w2"):
        remit(config, "keys", "create", f"{agent}-key", "--agent", agent)
    remit(config, "keys", "rotate", "w1-key", "--overlap", "60")
    remit(config, "keys", "create", "laptop", "--role", "worker", "--owner", "ann")

    found = json.loads(remit(config, "who-can", "tools/work", "--json").stdout)
    remit(config, "users", "disable", "ann")
    without = json.loads(remit(config, "who-can", "tools/work", "--json").stdout)

    assert (found["agents"], found["keys"]) == (["w1"], ["w1-key", "laptop"])
    assert without["keys"] == ["w1-key"]


@pytest.mark.parametrize(
    ("subject", "commands", "layer", "reason"),
    [
        ("user:ann", ["users disable ann"], "tenant", "user 'ann' is disabled"),
        ("key:k", ["keys create k --role worker", "keys revoke k"], "tenant", "was revoked at"),
        (
            "key:k",
            ["keys create k --role worker --owner ann", "users disable ann"],
            "tenant",
            "belongs to user 'ann', who is disabled",
        ),
        ("user:eve", [], "access", "nothing opens it to the caller"),
    ],
    ids=["disabled user", "revoked key", "key of a disabled user", "expired grant"],
)
def test_explain_keeps_its_shape_for_whoever_is_out(
    subject: str, commands: list[str], layer: str, reason: str, config: Path
) -> None:
    if subject == "user:eve":
        ended = 'grants: [{user: eve, effect: allow, server: tools, until: "2026-01-31T18:00:00Z"}]'
        closed = DOCUMENT.replace('mcp"}', 'mcp", default_access: deny}')
        config.write_text(f"{closed.replace('tools/*', '*/*')}{ended}\n")
    for command in commands:
        assert remit(config, *command.split()).exit_code == 0

    done = remit(config, "explain", "--as", subject, "tools/work", "--json")

    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert set(told) >= {"allowed", "layer", "rule", "reason", "revision", "layers"}
    assert told["allowed"] is False
    verdicts = {one["layer"]: (one["verdict"], one["reason"]) for one in told["layers"]}
    assert list(verdicts) == ["tenant", "server", "deny", "ceiling", "access", "tool"]
    assert verdicts[layer][0] == "deny"
    assert reason in verdicts[layer][1]
    if layer == "tenant":
        assert (told["layer"], told["reason"]) == (layer, verdicts[layer][1])
        assert remit(config, "tools", "--as", subject).exit_code == 1


def test_tools_of_a_bundled_server_need_not_have_been_offered(tmp_path: Path) -> None:
    path = tmp_path / "remit.yaml"
    path.write_text("mcp_servers: {data: {builtin: data}, mail: {builtin: mail}}\n")

    for subject, tool in (
        ("user-role:developer", "data/health"),
        ("agent-type:WORKER", "mail/send"),
    ):
        done = remit(path, "explain", "--as", subject, tool)
        assert "no server has offered" not in done.output


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_a_key_that_cannot_be_shown_is_named_so_that_it_can_be_ended(
    config: Path, options: list[str]
) -> None:
    words = ["keys", "create", "ci", "--role", "worker", *options, "--config", str(config)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "remit", *words],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=90,
        )

    (key,) = json.loads(remit(config, "keys", "list", "--json").stdout)
    assert done.returncode == 3
    assert done.stderr == (
        f"error: the key 'ci' ({key['id']}) is made, and cannot be shown: No space left on device;"
        f" nobody knows its text, so end it by `remit keys revoke ci`,"
        " or give it another by `remit keys rotate`\n"
    )
    assert remit(config, "keys", "revoke", "ci").exit_code == 0


@pytest.mark.parametrize("silence", ["soon", "0", "-1", "nan", "inf", "1e300"])
def test_a_silence_that_is_no_number_of_seconds_is_a_wrong_use(
    config: Path, monkeypatch: pytest.MonkeyPatch, silence: str
) -> None:
    monkeypatch.setenv("REMIT_AGENT_SILENCE", silence)

    done = remit(config, "keys", "list")

    assert (done.exit_code, done.stderr) == (
        2,
        "error: REMIT_AGENT_SILENCE is a number of seconds, above 0 and at most 31622400\n",
    )


@pytest.mark.parametrize("silence", ["", "0.5", "420", "31622400"])
def test_a_silence_in_seconds_or_none_does(
    config: Path, monkeypatch: pytest.MonkeyPatch, silence: str
) -> None:
    monkeypatch.setenv("REMIT_AGENT_SILENCE", silence)

    assert remit(config, "keys", "list").exit_code == 0
