"""The form of a server: what it shows, what it gives back, and what it never touches (S4.29)."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.doors.console.forms import Form
from remit.doors.console.server_fields import FIELDS, WAYS, Kind
from remit.doors.console.server_forms import (
    Entered,
    entered,
    kept,
    patch,
    problems_by_field,
    seen_in,
    shown,
    transport_of,
)

STDIO = {
    "command": "npx",
    "args": ["-y", "some-server", 8080],
    "env": {"TOKEN": "[redacted]", "LEVEL": 3, "HOME": "${HOME}"},
    "timeout": 45.0,
    "tools": {"rm": {"critical": True}},
    "max_children": 4,
    "env_inherit": "all",
}


def sent(form: Entered, **changes: Any) -> Form:
    """Return what a browser sends of a form in which some fields were changed."""
    pairs: list[tuple[str, str]] = [("transport", form.transport)]
    for key, value in {**form.values, **changes}.items():
        if isinstance(value, str):
            pairs.append((key, value.replace("\n", "\r\n")))
        else:
            for name, one in (*value, ("", "")):
                pairs += [(f"{key}.name", name), (f"{key}.value", one)]
    return Form(tuple(pairs))


def changed(entry: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    transport = changes.pop("transport", None)
    form = sent(shown(entry), **changes)
    if transport:
        form = Form((*form.pairs, ("transport", transport)))
    return patch(entry, entered(form, entry))


SCALARS = st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.floats())
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.text(max_size=5), SCALARS, max_size=3),
)
ENTRIES = st.dictionaries(
    st.sampled_from([*(field.key for field in FIELDS), "tools", "names", "max_children"]), VALUES
)


@given(ENTRIES)
def test_a_form_that_nobody_touched_changes_nothing(entry: dict[str, Any]) -> None:
    """Whatever is declared: what a field could not give back as it is, it does not offer."""
    found = changed(entry)

    idle = {f.key for f in FIELDS if transport_of(entry) not in f.transports}
    assert found.keys() - idle - {"transport"} == set()
    assert {found[key] for key in idle & found.keys()} <= {None}


@given(ENTRIES)
def test_members_that_the_form_does_not_show_are_never_sent(entry: dict[str, Any]) -> None:
    lines = {f.key: "changed" for f in FIELDS if f.kind in (Kind.TEXT, Kind.LINES)}

    found = changed(entry, **lines)

    counting = {f.key for f in FIELDS if transport_of(entry) in f.transports}
    assert set(kept(entry)) & counting & found.keys() == set()


def test_numbers_of_any_length_are_given_back() -> None:
    entry = {"command": "x", "env": {"HUGE": 10**400, "HALF": 0.5}, "timeout": 1e30}

    assert changed(entry) == {}
    assert kept(entry) == []


def test_only_what_was_changed_is_sent() -> None:
    env = (("TOKEN", "[redacted]"), ("LEVEL", "4"), ("NEW", "x"))

    assert changed(STDIO, env=env) == {"env": {"LEVEL": "4", "NEW": "x", "HOME": None}}
    assert changed(STDIO, args="-y\nother") == {"args": ["-y", "other"]}
    assert changed(STDIO, timeout="") == {"timeout": None}
    assert changed(STDIO, timeout="0") == {"timeout": 0}
    assert changed(STDIO, env=()) == {"env": None}
    assert kept(STDIO) == ["env_inherit", "max_children", "tools"]


def test_another_transport_takes_away_what_does_not_count_with_it() -> None:
    assert changed(STDIO, transport="http", url="https://a.example/mcp") == {
        "command": None,
        "args": None,
        "env": None,
        "url": "https://a.example/mcp",
    }
    entry = {"transport": "http", "url": "https://a.example/mcp"}
    assert changed(entry, transport="sse") == {"transport": "sse"}
    assert changed({"url": "https://a.example/mcp"}, transport="sse") == {"transport": "sse"}


def test_a_new_server_says_no_more_than_it_has_to() -> None:
    assert changed({}, command="npx", default_access="deny", url="left behind") == {
        "command": "npx",
        "default_access": "deny",
    }
    assert changed({}, transport="builtin", builtin="git") == {"builtin": "git"}


@pytest.mark.parametrize("transport", WAYS)
def test_without_its_address_a_server_says_at_least_what_it_is(transport: str) -> None:
    """So that the declaration's rules name the one member that is missing."""
    assert changed({}, transport=transport) == {"transport": transport}


def test_rows_that_cannot_be_meant_are_told_of() -> None:
    seen = shown({})
    twice = entered(sent(seen, env=(("A", "1"), ("A", "2"))), {})
    nameless = entered(sent(seen, env=(("", "1"),)), {})
    elsewhere = entered(sent(seen, headers=(("", "1"),)), {})

    assert twice.problems == {"env": "given twice: A; keep one of each"}
    assert nameless.problems == {"env": "a value has no name: name it, or empty its row"}
    assert elsewhere.problems == {}


def test_a_number_that_is_none_is_left_for_the_rules_to_refuse() -> None:
    assert changed({}, command="x", timeout="soon")["timeout"] == "soon"
    assert changed({}, command="x", timeout="1e999")["timeout"] == "1e999"
    assert changed({}, command="x", timeout="2.5", max_concurrency="8") == {
        "command": "x",
        "timeout": 2.5,
        "max_concurrency": 8,
    }


def test_problems_are_told_at_their_fields() -> None:
    told = problems_by_field(
        "a.b",
        [
            "bad-name: 'mcp_servers.a.b' is no server name: up to 64 letters; choose another name",
            "missing-key: 'mcp_servers.a.b' needs `command`; add it, or remove the server",
            "bad-value: 'mcp_servers.a.b.env.A=' is no name for an environment variable; x",
            "bad-value: 'mcp_servers.a.b.args[0]' holds it",
            "bad-value: 'mcp_servers.other.url' is elsewhere",
            "what no rule says",
        ],
    )

    assert {key: text.partition(";")[0] for key, text in told.items()} == {
        "name": "is no server name: up to 64 letters",
        "command": "needs `command`",
        "env": "is no name for an environment variable",
        "args": "holds it",
    }


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_a_form_without_what_was_seen_counts_as_that_of_nothing(text: str) -> None:
    assert seen_in(text) == {}
    assert seen_in(json.dumps(STDIO)) == STDIO
