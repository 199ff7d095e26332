"""What a declaration shows of itself, and what comes back from an edit form (T19)."""

import json
from typing import Any

import pytest

from remit.admin.declaration import parse_document
from remit.admin.edits import Kind, become, get_entry, merge, replace
from remit.admin.masking import masked, masked_server
from remit.errors import DeclarationError

MASK = "[redacted]"
CLEAR = "sentinel-5ff7"

SHOWN: list[tuple[str, object, object]] = [
    ("env", {"TOKEN": "${TOKEN}"}, {"TOKEN": "${TOKEN}"}),
    ("env", {"TOKEN": CLEAR, "PORT": "8080"}, {"TOKEN": MASK, "PORT": "8080"}),
    ("env", {"MODE": "debug"}, {"MODE": MASK}),
    ("env", {"TOKEN": "${TOKEN:-" + CLEAR + "}"}, {"TOKEN": MASK}),
    ("env", {"TOKEN": "x${TOKEN}"}, {"TOKEN": MASK}),
    ("headers", {"Authorization": "Bearer ${T}"}, {"Authorization": "Bearer ${T}"}),
    ("headers", {"Authorization": f"Bearer {CLEAR}"}, {"Authorization": MASK}),
    ("headers", {"X-Odd": CLEAR}, {"X-Odd": MASK}),
    ("args", ["--token", CLEAR, "--port", "80"], ["--token", MASK, "--port", "80"]),
    ("args", [f"--token={CLEAR}", "-v"], [MASK, "-v"]),
    ("args", ["--token", "${T}"], ["--token", "${T}"]),
    ("args", ["--token", "${T:-" + CLEAR + "}"], ["--token", MASK]),
    ("args", [f"postgres://u:{CLEAR}@h/d"], [MASK]),
    ("url", "https://h/mcp", "https://h/mcp"),
    ("url", "https://h/mcp?k=${K}&n=1&on=true", "https://h/mcp?k=${K}&n=1&on=true"),
    ("url", f"https://h/mcp?k={CLEAR}&n=1", f"https://h/mcp?k={MASK}&n=1"),
    ("url", f"https://h/mcp?{CLEAR}", f"https://h/mcp?{MASK}"),
    ("url", f"https://u:{CLEAR}@h:8/mcp", f"https://{MASK}@h:8/mcp"),
    ("url", f"https://{CLEAR}@h/", f"https://{MASK}@h/"),
    ("url", f"https://h/#{CLEAR}", f"https://h/#{MASK}"),
    ("url", "${URL}", "${URL}"),
    ("description", f"use rmt_abcd1234_{CLEAR}", f"use {MASK}"),
    ("bearer_token_env_var", "WIKI_TOKEN", "WIKI_TOKEN"),
    ("headers_from_env", {"X-Token": "WIKI"}, {"X-Token": "WIKI"}),
    ("tool_args", {"t": {"token": "secret"}}, {"t": {"token": "secret"}}),
    ("timeout", 3.5, 3.5),
]


@pytest.mark.parametrize(("key", "value", "shown"), SHOWN, ids=[str(n) for n in range(len(SHOWN))])
def test_of_a_server_references_are_shown_and_values_are_not(
    key: str, value: object, shown: object
) -> None:
    assert masked_server({key: value}) == {key: shown}


def test_of_the_other_sections_only_what_is_a_secret_is_hidden() -> None:
    document: dict[str, Any] = {
        "mcp_servers": {"secrets": {"command": "s"}},
        "roles": {
            "r": {"tools": {"secrets": ["get_secret"]}, "description": f"rmt_abcd1234_{CLEAR}"}
        },
        "identity": {
            "jwt": [{"issuer": "https://i.test", "secret_env": "I_SECRET"}],
            "oidc": {"client_secret": CLEAR, "client_id": "c", "scopes": ["a"]},
        },
        "data": {"sources": [{"password": CLEAR, "dsn": f"postgres://u:{CLEAR}@h"}]},
    }

    shown = masked(document)

    assert CLEAR not in json.dumps(shown)
    assert shown["mcp_servers"] == document["mcp_servers"]
    assert shown["roles"] == {"r": {"tools": {"secrets": ["get_secret"]}, "description": MASK}}
    assert shown["identity"] == {
        "jwt": document["identity"]["jwt"],
        "oidc": {"client_secret": MASK, "client_id": "c", "scopes": ["a"]},
    }
    assert masked(shown) == shown


def _stored() -> dict[str, Any]:
    return {
        "mcp_servers": {
            "wiki": {
                "url": f"https://h.test/mcp?k={CLEAR}",
                "headers": {"X-Odd": CLEAR, "X-Other": "o" + CLEAR},
            },
            "tool": {"command": "t", "args": ["--token", CLEAR], "env": {"A": CLEAR}},
        }
    }


def test_a_masked_field_that_was_left_as_it_was_keeps_the_stored_secret() -> None:
    # T19
    document = _stored()
    for name in ("wiki", "tool"):
        form = masked_server(get_entry(document, Kind.SERVER, name))
        assert MASK in json.dumps(form)

        sent = replace(Kind.SERVER, name, {**form, "description": "new"})(document)

        assert get_entry(sent, Kind.SERVER, name) == {
            **document["mcp_servers"][name],
            "description": "new",
        }
        parse_document(sent)


def test_a_masked_field_that_was_written_anew_is_what_was_written() -> None:
    document = _stored()
    patch = {"headers": {"X-Odd": "${ODD}", "X-Other": MASK}}

    sent = merge(Kind.SERVER, "wiki", patch)(document)

    headers = get_entry(sent, Kind.SERVER, "wiki")["headers"]
    assert headers == {"X-Odd": "${ODD}", "X-Other": "o" + CLEAR}


@pytest.mark.parametrize(
    ("name", "patch", "field"),
    [
        ("wiki", {"url": f"https://elsewhere.test/mcp?k={MASK}"}, "mcp_servers.wiki.url"),
        ("wiki", {"headers": {"X-New": MASK}}, "mcp_servers.wiki.headers.X-New"),
        ("tool", {"args": [MASK, "--token"]}, "mcp_servers.tool.args[0]"),
        ("tool", {"args": ["--token", MASK, MASK]}, "mcp_servers.tool.args[2]"),
        ("tool", {"env": {"A": f"{MASK}!"}}, "mcp_servers.tool.env.A"),
    ],
    ids=["address", "new header", "moved", "one more", "added to"],
)
def test_a_mask_that_stands_for_nothing_stored_is_refused(
    name: str, patch: dict[str, object], field: str
) -> None:
    document = merge(Kind.SERVER, name, patch)(_stored())

    with pytest.raises(DeclarationError) as refusal:
        parse_document(document)

    problems = [one for one in refusal.value.problems if one.code == "masked-secret"]
    assert [CLEAR in str(one) for one in problems] == [False]
    assert field in problems[0].message
    assert "${NAME}" in problems[0].remedy


def _issuers(*issuers: dict[str, Any]) -> dict[str, Any]:
    return {"identity": {"jwt": list(issuers), "oidc": {"client_secret": CLEAR}}}


ONE: dict[str, Any] = {
    "issuer": "https://one.test",
    "jwks_url": f"https://u:{CLEAR}-1@one.test/keys",
}
TWO: dict[str, Any] = {
    "issuer": "https://two.test",
    "jwks_url": f"https://u:{CLEAR}-2@two.test/keys",
}


def test_a_whole_document_that_is_sent_back_as_it_was_shown_is_what_was_stored() -> None:
    """T19, in every section: whoever edits the declaration as text loses no secret."""
    stored = _stored() | _issuers(ONE, TWO)
    shown = masked(stored)
    assert CLEAR not in json.dumps(shown)

    assert become(shown)(stored) == stored


def test_an_entry_of_a_list_keeps_its_own_secret_wherever_it_is_moved() -> None:
    stored = _issuers(ONE, TWO)
    first, second = _shown_issuers(stored)
    changed = {**second, "leeway": 5}

    assert _stored_issuers(become(_issuers(second, first))(stored)) == [TWO, ONE]
    assert _stored_issuers(become(_issuers(second))(stored)) == [TWO]
    assert _stored_issuers(become(_issuers(first, changed))(stored)) == [ONE, {**TWO, "leeway": 5}]


def test_a_mask_in_any_section_that_stands_for_nothing_stored_is_refused() -> None:
    stored = _issuers(ONE, TWO)
    _, second = _shown_issuers(stored)

    with pytest.raises(DeclarationError) as refusal:  # it may be either of the two
        become(_issuers({**second, "leeway": 5}))(stored)

    assert [problem.code for problem in refusal.value.problems] == ["masked-secret"]
    assert "identity.jwt[0].jwks_url" in refusal.value.problems[0].message


def test_a_text_that_only_reads_like_a_mask_stays() -> None:
    stored = {"roles": {"r": {"description": f"sees {MASK} where others see a name"}}}

    assert become(masked(stored))(stored) == stored


def _shown_issuers(stored: dict[str, Any]) -> list[dict[str, Any]]:
    shown: Any = masked(stored)
    return shown["identity"]["jwt"]


def _stored_issuers(document: Any) -> list[dict[str, Any]]:
    return document["identity"]["jwt"]
