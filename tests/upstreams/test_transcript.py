from dataclasses import replace

from remit.model.servers import ServerConfig
from remit.upstreams.environment import resolve
from remit.upstreams.transcript import TAIL, Transcript, secrets_of


def test_only_the_tail_of_the_error_output_is_kept() -> None:
    transcript = Transcript()
    for _ in range(1000):
        transcript.error_output(b"x" * 1000)
    transcript.error_output(b"\nthe end\n  \n")
    assert len(transcript.tail) == TAIL
    assert transcript.last_line == "the end"


def test_the_last_line_is_one_that_says_something() -> None:
    transcript = Transcript(["hunter2"])

    transcript.error_output(b"-----\n  +-+---- 1 -----\n    | Exit: no hunter2\n    +-----\n***\n")

    assert transcript.last_line == "Exit: no [redacted]"


def test_a_secret_is_not_shown_even_where_the_tail_is_cut() -> None:
    # R21
    transcript = Transcript(["hunter22", "hunter2"])
    transcript.error_output(b"hunter22" + b"-" * (TAIL - 4))
    assert "hunter" not in transcript.tail
    assert "ter22" not in transcript.tail


def test_a_secret_within_another_one_leaves_nothing_of_either() -> None:
    transcript = Transcript(["abcd", "xxabcdyy"])
    transcript.error_output(b"xxabcdyy and abcd")
    assert transcript.tail == "[redacted] and [redacted]"


def test_noise_is_counted_and_its_last_line_shown_without_secrets() -> None:
    transcript = Transcript(["hunter2"])
    assert transcript.notes == ()
    transcript.noise(b"")
    transcript.noise(b"password hunter2 \xff" + b"x" * 10_000)
    (note,) = transcript.notes
    assert note.startswith("2 lines")
    assert "[redacted]" in note
    assert "hunter2" not in note
    assert len(note) < 500


def test_what_was_filled_in_on_purpose_is_secret_and_the_rest_is_not() -> None:
    config = ServerConfig(
        name="s",
        command="run",
        args=("--token", "${TOKEN}"),
        env={"KEY": "${KEY}"},
        env_passthrough=("PASSED",),
        url="https://example.test/${PATH_KEY}",
        bearer_token_env_var="BEARER",
    )
    environ = {
        "TOKEN": "t-token",
        "KEY": "k-key",
        "PASSED": "p-passed",
        "PATH_KEY": "u-key",
        "BEARER": "b-bearer",
        "HOME": "/home/somebody",
        "API_TOKEN": "i-inherited",
    }
    found = set(secrets_of(config, resolve(config, environ)))
    assert found >= {"t-token", "k-key", "p-passed", "https://example.test/u-key", "b-bearer"}
    assert not found & {"/home/somebody", "run", "--token", "i-inherited"}
    inheriting = replace(config, env_inherit="all")
    assert "i-inherited" in set(secrets_of(inheriting, resolve(inheriting, environ)))


def test_a_secret_is_one_without_the_text_around_it_too() -> None:
    # T19: `--token=${TOKEN}` is one argument, but "bad token ..." shows the value alone.
    config = ServerConfig(
        name="s",
        command="run",
        args=("--token=${TOKEN}", "--home=${HOME}"),
        url="https://me:pass%20word@example.test/mcp?api_key=in-clear&page=second&k=${URL_KEY}",
        headers={"X-Api": "Token ${HEADER_KEY}"},
    )
    environ = {"TOKEN": "t-token", "URL_KEY": "u-key", "HEADER_KEY": "h-key", "HOME": "/home/me"}
    found = set(secrets_of(config, resolve(config, environ)))
    assert found >= {"t-token", "u-key", "h-key", "in-clear", "pass%20word", "pass word"}
    assert not found & {"/home/me", "second"}
