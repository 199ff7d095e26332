"""Nothing that a server says reaches the terminal raw, or looks like a line of remit's own."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
import typer.testing
from hypothesis import given
from hypothesis import strategies as st

from remit.cli.lines import json_text, plain, plain_text
from remit.cli.main import app
from remit.cli.output import refuse
from remit.errors import Conflict, DeclarationError, Problem, ProblemDetails, RemitError
from remit.testing.gateway import environment, fixture_entry, run_remit

EVIL = "\x1b]0;mine\x07\x1b[2J\x9b31m\r\nerror: forged\u202e\u2066\u2028x"
SHOWN = r"\x1b]0;mine\x07\x1b[2J\x9b31m\r\nerror: forged\u202e\u2066\u2028x"
TOOLS: list[Any] = [
    EVIL,
    {"name": "says", "x-fixture": {"result": {"content": [{"type": "text", "text": EVIL}]}}},
    {
        "name": "fails",
        "x-fixture": {"result": {"isError": True, "content": [{"type": "text", "text": EVIL}]}},
    },
    {"name": "breaks", "x-fixture": {"error": {"code": -32000, "message": EVIL}}},
    {"name": "draws", "x-fixture": {"result": {"structuredContent": {"said": EVIL}}}},
]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command printed."""

    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return (self.out + self.err).split("\n")


def remit(folder: Path, *words: str, status: int = 0) -> Shown:
    config = ["--config", str(folder / "remit.yaml")]
    done = typer.testing.CliRunner().invoke(app, [*words, *config])
    assert done.exit_code == status, done.output
    assert isinstance(done.exception, SystemExit | None)
    return Shown(done.stdout_bytes.decode(), done.stderr_bytes.decode())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder whose server was called once, so that what it offers is known."""
    folder = tmp_path_factory.mktemp("hostile")
    document: dict[str, Any] = {
        "version": "1.0",
        "mcp_servers": {"hostile": fixture_entry(TOOLS, folder / "count.jsonl")},
        "roles": {"all": {"allow": ["hostile/*"]}, "none": {"allow": ["hostile/nothing"]}},
    }
    (folder / "remit.yaml").write_text(json.dumps(document))
    document["roles"]["more"] = {"allow": ["hostile/*"]}
    (folder / "other.yaml").write_text(json.dumps(document))
    remit(folder, "call", "--as", "role:all", "hostile/says")
    return folder


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("tools", "--as", "role:all"), 0),
        (("call", "--as", "role:all", "hostile/breaks"), 1),
        (("call", "--as", "role:none", f"hostile/{EVIL}"), 1),
        (("call", "--as", f"role:{EVIL}", "hostile/says"), 2),
        (("explain", "--as", "role:all", f"hostile/{EVIL}"), 0),
        (("explain", "--as", "role:none", f"hostile/{EVIL}"), 1),
        (("who-can", f"hostile/{EVIL}"), 0),
        (("who-can", f"nowhere/{EVIL}"), 1),
        (("apply", "other.yaml", "--dry-run"), 0),
        (("keys", "revoke", EVIL), 2),
        (("audit", "search"), 0),
    ],
)
def test_every_command_shows_what_others_wrote_and_begins_each_line_itself(
    hostile: Path, words: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)

    shown = remit(hostile, *words, status=status)

    assert all(line.isprintable() for line in shown.lines)
    assert not any(line.startswith("error: forged") for line in shown.lines)
    assert words[0] in {"audit", "keys", "who-can"} or SHOWN[:9] in shown.out + shown.err


def test_nor_does_what_was_typed(tmp_path: Path) -> None:
    ended = run_remit("tools", f"--{EVIL.strip()}", folder=tmp_path)

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.removesuffix("\n").isprintable()


@pytest.mark.parametrize(("tool", "status"), [("says", 0), ("fails", 1)])
def test_a_tools_text_keeps_its_lines_and_nothing_else_that_steers(
    hostile: Path, tool: str, status: int
) -> None:
    shown = remit(hostile, "call", "--as", "role:all", f"hostile/{tool}", status=status)

    assert shown.out == SHOWN.replace(r"\r\n", "\n") + "\n"


def test_an_error_of_a_server_is_one_line(hostile: Path) -> None:
    shown = remit(hostile, "call", "--as", "role:all", "hostile/breaks", status=1)

    assert [line for line in shown.err.split("\n") if line.startswith("error: ")] == [
        next(line for line in shown.err.split("\n") if SHOWN in line)
    ]


@pytest.mark.parametrize("words", [("says", "--json"), ("draws",)])
def test_json_has_the_same_value_and_no_character_that_steers(
    hostile: Path, words: tuple[str, ...]
) -> None:
    shown = remit(hostile, "call", "--as", "role:all", f"hostile/{words[0]}", *words[1:]).out

    assert EVIL in leaves(json.loads(shown))
    assert all(line.isprintable() for line in shown.split("\n"))


def leaves(value: object) -> list[str]:
    """Return the texts in a JSON value."""
    match value:
        case dict():
            return [
                text
                for inner in cast("dict[str, object]", value).values()
                for text in leaves(inner)
            ]
        case list():
            return [text for inner in cast("list[object]", value) for text in leaves(inner)]
        case str():
            return [value]
        case _:
            return []


def test_a_log_for_people_has_no_line_of_a_servers_own() -> None:
    program = (
        "import structlog; from remit.cli.logs import set_up_logging; set_up_logging(30);"
        f" structlog.get_logger().warning('call denied', tool={EVIL!r})"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment({"REMIT_LOG_FORMAT": "text"}),
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stderr.count("\n") == 1
    assert SHOWN in ended.stderr.replace("\\\\", "\\")
    assert ended.stderr.removesuffix("\n").isprintable()


@given(st.text())
def test_a_line_is_a_line_and_a_text_has_no_other_line_ends(text: str) -> None:
    assert plain(text).isprintable()
    assert [plain(line) for line in plain_text(text).split("\n")] == [
        plain(line) for line in text.replace("\r\n", "\n").split("\n")
    ]


def test_what_can_be_read_stays_as_it_is() -> None:
    assert (
        plain("Grüße, \u65e5\u672c \U0001f600 $ [31m \\n")
        == "Grüße, \u65e5\u672c \U0001f600 $ [31m \\n"
    )
    assert plain("a\u00a0b\u3000c\td") == r"a b c\td"
    assert plain_text("a\tb\r\n\u3000\u0645\u200c\u0646 \r \ud800") == (
        "a\tb\n\u3000\u0645\u200c\u0646 " + r"\r \ud800"
    )


@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda of: st.dictionaries(st.text(), of))
)
def test_json_says_the_same_without_what_steers(value: object) -> None:
    for text in (json_text(value), json_text(value, indent=2)):
        assert json.loads(text) == value
        assert not set(text) & set("\x7f\x85\x9b\u061c\u200e\u2028\u2029\u202a\u202e\u2066\u2069")


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (RemitError("one\nerror: forged"), [r"one\nerror: forged"]),
        (
            DeclarationError(
                [Problem(code="a", message="first\nx"), Problem(code="b", message="2")]
            ),
            [r"first\nx", "2"],
        ),
        (ProblemDetails("told\nx", status=400, code="a"), [r"told\nx"]),
        (ProblemDetails("told", status=400, code="a", problems=["p\nx", "q"]), [r"p\nx", "q"]),
        (Conflict("would overwrite\n  + roles: \x1b"), ["would overwrite", r"  + roles: \x1b"]),
    ],
)
def test_an_error_has_a_line_for_each_single_thing_that_is_wrong(
    error: RemitError, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        refuse(error)

    assert capsys.readouterr().err == "".join(f"error: {line}\n" for line in lines)
