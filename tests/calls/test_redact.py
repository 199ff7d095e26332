"""Single cases of R28's redaction; the laws are in test_redact_laws.py."""

import json

import pytest

from remit.calls.redact import REDACTED, recorded, recorded_text, redacted, redacted_text

CAP = 16 * 1024

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\nabc=\n-----END RSA PRIVATE KEY-----"


def stored(value: object) -> str:
    return recorded(json.dumps(value).encode(), CAP)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"repository": ".", "max_count":3}',
        b'{"a":1.10,"b":1E5,"c":9007199254740993,"d":-0,"e":1e999}',
        b'{"prompt_tokens":12,"total tokens":"a lot"}',
        '{"text":"Grüße, \U0001f600 \\n \\"quoted\\""}'.encode(),
        b'{"a":1,"a":2}',
        b'{"author":"Ada","auth_type":"none","pinned":true,"shipping":"no pin","otpauth":1}',
        b'{"bypass":1,"OAuth":2,"passThrough":3,"underPinned":4,"TESTPASS":5,"the Compass":6}',
        b'{ "a":"a secret is no token", "n":1.10,"e":1e999 }',
        rb'{"a":"\ud800 \u001b[0m", "b":1E5}',
        b" [ 1 , 2 ] ",
    ],
)
def test_a_body_without_secrets_is_stored_byte_for_byte(body: bytes) -> None:
    assert recorded(body, CAP).encode() == body


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "db_passwd",
        "passphrase",
        "passcode",
        "pwd",
        "DB_PASS",
        "creds",
        "AccountKey",
        "PIN",
        "otp",
        "auth",
        "basic_auth",
        "basicAuth",
        "dbPass",
        "userPin",
        "totp2Otp",
        "signing_key",
        "client_secret",
        "token",
        "access_token",
        "GITHUB_TOKEN",
        "apiKey",
        "x-api-key",
        "api key",
        "accessKeyId",
        "private_key",
        "Authorization",
        "credentials",
        "Set-Cookie",
        "bearer",
    ],
)
@pytest.mark.parametrize("value", ["hunter2", 4711, {"inner": ["hunter2"]}, ["a", {"b": 1}], None])
def test_whatever_stands_under_a_secrets_name_is_not_stored(key: str, value: object) -> None:
    assert json.loads(stored({"a": [{key: value}], "b": 1})) == {"a": [{key: REDACTED}], "b": 1}


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abcdefgh12345678",
        "bearer\n abcdefgh12345678",
        JWT,
        JWT + ".extra.parts",
        "rmt_abcd2345_0123456789abcdef",
        "ghp_0123456789abcdefABCD",
        "github_pat_0123456789abcdefABCD",
        "glpat-0123456789abcdefABCD",
        "xoxb-0123456789-abcdefghij",
        "sk-proj-0123456789abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "sk_live_0123456789abcdefABCD",
        "AIzaSyD-0123456789abcdefABCD",
        "hf_0123456789abcdefABCD",
        "npm_0123456789abcdefABCD",
        PEM,
        "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq and the end is missing",
    ],
)
@pytest.mark.parametrize("before", ["", "see ", "line\n", "tab\t", "é", "(", '"', "key=", "\x1b"])
def test_the_shape_of_a_secret_is_found_wherever_it_stands(secret: str, before: str) -> None:
    text = stored({"content": [{"type": "text", "text": f"{before}{secret} after"}]})

    assert secret not in json.loads(text)["content"][0]["text"]
    assert secret[-10:] not in text
    assert json.loads(text)["content"][0]["text"].startswith(before.rstrip("="))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://user:s3cr3t@example.test/x", "https://[redacted]@example.test/x"),
        ("redis://:s3cr3t@cache:6379", "redis://[redacted]@cache:6379"),
        ("https://u:p@ss:word@example.test", "https://[redacted]@example.test"),
        ("https://ghp_0123456789abcdefABCD:x@h", "https://[redacted]@h"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("http://host:8080/a see b@c", "http://host:8080/a see b@c"),
        ("postgresql://me:pa/ss@h/x", "postgresql://[redacted]@h/x"),
        ("https://u:/s3cr3t//@h/x@2", "https://[redacted]@h/x@2"),
        ("https://u:s3cr3t@h/a@2x.png", "https://[redacted]@h/a@2x.png"),
        ("https://u:1234/s3cr3t@h", "https://u:1234/s3cr3t@h"),  # as of a port and a path
        ("https://0123456789abcdefABCD@h/x", "https://[redacted]@h/x"),
        ("ssh://git@example.test/x", "ssh://git@example.test/x"),
        ("https://hooks.slack.com/services/T0/B0/x1", "https://[redacted]"),
        ("task-management-system-number-2", "task-management-system-number-2"),
        ("the rmt_x", "the rmt_x"),
    ],
)
def test_addresses_lose_their_passwords_and_words_stay(text: str, kept: str) -> None:
    assert redacted_text(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=hunter2 user=me", "password=[redacted] user=me"),
        ("https://h/x?api_key=hunter2&page=2", "https://h/x?api_key=[redacted]&page=2"),
        ("password = 'it is' x", "password = '[redacted]' x"),
        ('{"token": "a\\"b", "c": 1}', '{"token": "[redacted]", "c": 1}'),
        ('{"token": 12, "c": 1}', '{"token": [redacted], "c": 1}'),
        ('{"token": {"a": ["b}", 2]}, "c": 1}', '{"token": [redacted], "c": 1}'),
        ('{"token": ["a", "b"], "c": 1}', '{"token": [redacted], "c": 1}'),
        ('token="a\\"" x', 'token="[redacted]" x'),
        ('token="', 'token="[redacted]'),
        ("token=[redacted]rest x", "token=[redacted] x"),
        ("{'password': 'x', 'c': 1}", "{'password': '[redacted]', 'c': 1}"),
        ('"secret" :\n  "x"', '"secret" :\n  "[redacted]"'),
        ("secret:\n  token: hunter2\n", "secret:\n  token: [redacted]\n"),
        ("Authorization: Basic dTpw\nHost: x", "Authorization: [redacted]\nHost: x"),
        ("Cookie: a=b; c=d", "Cookie: [redacted]"),
        ("token=sk-0123456789abcdefgh/rest x", "token=[redacted] x"),
        ('token="left open', 'token="[redacted]'),
        ("token={left open", "token=[redacted]"),
        ("password => x", "password => [redacted]"),
        ("no token here: it is gone", "no token here: it is gone"),
        ("token=", "token="),
        ("token=,x", "token=,x"),
        ("psql --password hunter2 --quiet", "psql --password [redacted] --quiet"),
        ("--api-key  'x y' z", "--api-key  '[redacted]' z"),
        ("pin: 4711", "pin: [redacted]"),
        ("dbPass=hunter2 next", "dbPass=[redacted] next"),
        (r'"password": "hunter2\n', '"password": "[redacted]'),
        ("max_tokens=5", "max_tokens=5"),
        ("max_tokens: [1, 2]", "max_tokens: [1, 2]"),
        ("tokens: 'a lot'", "tokens: 'a lot'"),
        ('refresh_tokens: ["a", "b"] x', "refresh_tokens: [redacted] x"),
        ('{"tokens": [ "a" ], "c": 1}', '{"tokens": [redacted], "c": 1}'),
        ('["--password", "x y", "-v"]', '["--password", "[redacted]", "-v"]'),
        ('["Authorization", "Basic dTpw"]', '["Authorization", "[redacted]"]'),
        ('{"name": "api_key", "value": "x"}', '{"name": "api_key", "value": "[redacted]"}'),
        ('["lost password", "billing"]', '["lost password", "billing"]'),
        ('["secret", "public"]', '["secret", "public"]'),
    ],
)
def test_text_loses_what_stands_behind_a_secrets_name(text: str, kept: str) -> None:
    assert redacted(text) == kept
    assert redacted([{text: text}]) == [{kept: REDACTED if "tokens" not in text else kept}]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("curl -u me:hunter2 https://h", "curl -u [redacted] https://h"),
        ("curl --user=me:a,b;c https://h", "curl --user=[redacted] https://h"),
        ("curl -U 'me:it is' https://h", "curl -U '[redacted]' https://h"),
        ('curl -u "A\\me:x"', 'curl -u "[redacted]"'),
        ('["curl", "-u", "me:hunter2"]', '["curl", "-u", "[redacted]"]'),
        ("docker run -u 1000:1000 x", "docker run -u 1000:1000 x"),
        ("date -u +%H:%M", "date -u +%H:%M"),
        ("scan -u https://h/x", "scan -u https://h/x"),
        ("git push -u origin a:b", "git push -u origin a:b"),
        ("run-u me:x", "run-u me:x"),
    ],
)
def test_a_user_on_a_command_line_loses_its_password(text: str, kept: str) -> None:
    assert redacted(text) == kept
    assert json.loads(stored({"command": text}))["command"] == kept


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"name": "password", "value": "x"}, {"name": "password", "value": REDACTED}),
        ({"key": "API_KEY", "value": ["x"]}, {"key": "API_KEY", "value": REDACTED}),
        ({"name": "the secret of life", "value": "x"}, None),
        ({"name": "city", "value": "x"}, None),
        (["--city", "x"], None),
        ({"name": 7, "value": "x"}, None),
        (["run", "--password", "x", "-v"], ["run", "--password", REDACTED, "-v"]),
        (["-token", "x"], ["-token", REDACTED]),
        (["--password", "--quiet"], None),
        (["--password", 7], None),
        ([["Authorization", "Basic dTpw"]], [["Authorization", REDACTED]]),
        ([["x-api-key", "x"]], [["x-api-key", REDACTED]]),
        (["authorization", "cookie", "x"], None),
        (["curl", "-u", "me:x", "h"], ["curl", "-u", REDACTED, "h"]),
        (["curl", "--user", "me:x"], ["curl", "--user", REDACTED]),
        (["run", "-u", "1000:1000"], None),
        (["push", "-u", "origin"], None),
        (["-u", 7], None),
        ({"tokens": ["x", "y"]}, {"tokens": REDACTED}),
        ({"max_tokens": 5, "tokens": [1, 2], "input_tokens": "a lot"}, None),
        ({"tokens": [], "tokens of": ["x"]}, None),
        (["secret", "public"], None),
    ],
)
def test_a_value_beside_its_name_is_not_stored(value: object, kept: object) -> None:
    assert json.loads(stored(value)) == (value if kept is None else kept)
    assert redacted(value) == (value if kept is None else kept)
    assert redacted(redacted(value)) == redacted(value)


@pytest.mark.timeout(30)  # from each letter anew it takes minutes
@pytest.mark.parametrize(
    "piece",
    [
        *("eyJ-", "eyJ_aaaaaaaaaa-", "-eyJaaaaaaaa.b "),
        *(
            "://a:",
            "://a:b/",
            "-u a",
            "-u +a:",
            "-u 'a",
            "--user=b",
            "tokens",
            "tokens: ",
            "tokens=9",
        ),
    ],
)
def test_what_only_begins_as_a_token_again_and_again_is_read_once(piece: str) -> None:
    text = piece * (200_000 // len(piece))

    assert redacted([text]) == [text]
    assert json.loads(recorded(json.dumps({"a": text}).encode(), 1_000_000))["a"] == text


def test_what_begins_as_a_token_hides_no_other_secret() -> None:
    assert redacted_text("eyJabcdefgh-ghp_0123456789abcdefABCD") == "eyJabcdefgh-[redacted]"


def test_an_escape_hides_no_secret() -> None:
    assert recorded(rb'{"p\u0061ssword":"hunter2"}', CAP) == '{"password":"[redacted]"}'
    assert "s3cr3t" not in recorded(rb'{"a":"https:\/\/u:s3cr3t@h"}', CAP)
    assert "s3cr3t" not in stored({"body": '{"a":"https:\\/\\/u:s3cr3t@h"}'})


def test_a_name_that_occurs_twice_hides_no_secret() -> None:
    body = b'{"a":"ghp_0123456789abcdefABCD","a":1,"b":{"token":"hunter2"},"b":"x"}'

    assert recorded(body, CAP) == '{"a":1,"b":"x"}'


def test_json_inside_of_text_loses_its_secrets() -> None:
    inner = json.dumps({"password": 'hun"ter2', "user": json.dumps({"api_key": "hunter3"})})

    text = stored({"content": [{"type": "text", "text": inner}]})

    assert "ter2" not in text
    assert "hunter3" not in text


def test_a_body_over_the_cap_is_stored_as_its_beginning_with_its_size() -> None:
    body = json.dumps({"a": "x" * 500}).encode()

    assert json.loads(recorded(body, 200)) == {
        "truncated": True,
        "size": len(body),
        "head": '{"a": "' + "x" * (200 - 64 - 7 - 3),  # each quote takes two bytes
    }


def test_a_body_of_just_the_cap_is_stored_whole() -> None:
    body = b'{"a":"xxxx"}'

    assert recorded(body, len(body)).encode() == body
    assert "truncated" in recorded(body, len(body) - 1)


def test_a_tiny_cap_still_stores_the_size() -> None:
    assert json.loads(recorded(b'{"a":"xxxx"}', 1)) == {"truncated": True, "size": 12, "head": ""}


@pytest.mark.parametrize(
    "head",
    [
        '{"password": "hunter2',
        '{"password": "hun\\"ter2',
        '{"credentials": {"user": "hunter2", "more": ["hunter2", ',
        '{"text": "{\\"password\\": \\"hunter2\\", \\"b\\": 1',
        '{"text": "{\\"credentials\\": {\\"a\\": \\"}hunter2\\"}, \\"b\\": 1',
        '{"p\\u0061ssword": "hunter2", "b": 1',
        '{"api key": [1, {"a": "hunter2"}], "b": 1',
        '{"a": "see ghp_hunter2',
        '{"a": "line\\nrmt_hunter2',
        '{"a": "bearer hunter2',
        '{"a": "https://user:hunter2',
        '{"a": "https:\\/\\/user:hunter2',
        '{"a": "-----BEGIN PRIVATE KEY-----\\nhunter2',
        '{"a": "eyJhunter2',
        '{"a": "AKIAhunter2',
        '{"a": "sk-hunter2',
    ],
)
def test_a_secret_that_the_cap_cuts_off_leaves_no_part_of_itself(head: str) -> None:
    text = recorded(head.encode() + b"z" * 5000, len(head) + 64)

    assert "hun" not in text
    assert "ter2" not in text
    assert json.loads(text)["truncated"]


def test_a_head_goes_on_behind_a_secret() -> None:
    body = b'{"credentials": {"a": ["hunter2"]}, "b": "the rest' + b" goes on" * 100

    assert json.loads(recorded(body, 300))["head"].startswith(
        '{"credentials": [redacted], "b": "the rest goes on'
    )


def test_only_the_last_word_of_a_head_can_hold_a_secret_that_was_cut_off() -> None:
    words = "see https://a.b/c and sk-x, bearer of good news and"
    body = words.encode() + b" more" * 100

    assert json.loads(recorded(body, 300))["head"].startswith(words)


def test_a_text_that_was_not_cut_loses_no_last_word() -> None:
    assert json.loads(recorded(b"see sk-x", 8 + 64))["head"] == "see sk-x"


def test_an_escape_of_a_quote_in_a_head_stays_an_escape() -> None:
    body = rb'{"a\u0022b": "\u0041\/", "token": 1, "c": "' + b"x" * 500

    assert json.loads(recorded(body, 200))["head"].startswith(
        r'{"a\u0022b": "A\/", "token": [redacted], "c": "xxx'
    )


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b'{"a":', b"NaN", b'{"token":NaN}', b'{"a":"\x00"}', b"\xff", b"[" * 5000],
)
def test_what_is_no_json_is_stored_as_text_in_json(body: bytes) -> None:
    text = recorded(body, CAP)

    assert json.loads(text)["size"] == len(body)
    assert "\x00" not in text


def test_nesting_beyond_what_can_be_walked_is_stored_without_its_secrets() -> None:
    body = b'{"a":' * 5000 + b'{"password":"hunter2"}' + b"}" * 5000

    text = recorded(body, 10 * len(body))

    assert json.loads(text)["size"] == len(body)
    assert "hunter2" not in text


def test_numbers_that_python_cannot_hold_stay_json() -> None:
    text = recorded(b'{"token":1,"a":1e999,"b":-1e999,"c":1.5}', CAP)

    assert text == '{"token":"[redacted]","a":"1e999","b":"-1e999","c":1.5}'
    assert json.loads(recorded(b'{"token":1,"a":' + b"9" * 5000 + b"}", CAP))["truncated"]


def test_text_beside_a_secret_stays_readable() -> None:
    assert recorded('{"token":1,"a":"Grüße"}'.encode(), CAP) == '{"token":"[redacted]","a":"Grüße"}'


def test_a_lone_surrogate_stays_an_escape() -> None:
    assert recorded(rb'{"a":"\ud800","token":1}', CAP) == r'{"a":"\ud800","token":"[redacted]"}'


def test_a_body_that_redaction_lengthens_over_the_cap_is_cut() -> None:
    body = json.dumps([{"token": 1}] * 50, separators=(",", ":")).encode()

    text = recorded(body, len(body))

    assert len(text) <= len(body)
    assert json.loads(text)["size"] == len(body)
    assert json.loads(text)["head"].startswith('[{"token":"[redacted]"},')


def test_bytes_that_are_no_text_cannot_lengthen_a_row_over_the_cap() -> None:
    body = b'{"a":"' + b"\xff" * 500 + b'"}'

    assert len(recorded(body, len(body)).encode()) <= len(body)
    assert json.loads(recorded(body, 3 * len(body))) == {"a": "�" * 500}


def test_a_message_keeps_no_secret_and_no_more_than_asked_for() -> None:
    assert recorded_text("bad token=hunter2 for x", 100) == "bad token=[redacted] for x"
    assert recorded_text("x" * 50, 50) == "x" * 50
    assert recorded_text("x" * 51, 50) == "x" * 50 + "…"
    assert recorded_text("no ghp_hunter2", 12) == "no [redacted]…"
    assert recorded_text("a\ud800", 50) == "a\\ud800"
