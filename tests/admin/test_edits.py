"""Edits of a declaration's document: each changes its own place and nothing else."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.admin.declaration import parse_document
from remit.admin.edits import (
    TOOLSET_OPTIONS,
    Edit,
    Kind,
    add,
    add_grant,
    declare,
    entries,
    get_entry,
    get_grant,
    grant_id,
    grants,
    merge,
    remove,
    remove_grant,
    replace,
    replace_grant,
    set_retention,
    set_toolset_options,
    switch_server,
)
from remit.errors import BadCall, Conflict, DeclarationError, NotFound

WIKI = {"url": "https://wiki.example.test/mcp", "default_access": "deny"}
GRANT = {"user": "ann", "effect": "allow", "server": "wiki"}
DENY = {"everyone": True, "effect": "deny", "tool": "*/delete_*"}


def _document() -> dict[str, Any]:
    return {
        "version": "1.0",
        "mcp_servers": {"git": {"builtin": "git"}, "wiki": copy.deepcopy(WIKI)},
        "roles": {"dev": {"tools": {"git": ["git_log"]}}},
        "agent_types": {"WORKER": {"allow": ["mcp__mail__*"]}},
        "toolsets": {"developer": {"addQueryTools": False, "enabled": True}},
        "grants": [copy.deepcopy(GRANT), copy.deepcopy(DENY)],
        "audit": {"retention_rows": 1000, "body_cap": 10},
    }


EDITS: Mapping[str, tuple[Edit, str]] = {
    "add a server": (add(Kind.SERVER, "time", {"command": "t"}), "mcp_servers"),
    "change a server": (replace(Kind.SERVER, "git", {"command": "g"}), "mcp_servers"),
    "merge into a server": (merge(Kind.SERVER, "wiki", {"timeout": 3}), "mcp_servers"),
    "remove a server": (remove(Kind.SERVER, "git"), "mcp_servers"),
    "disable a server": (switch_server("git", enabled=False), "mcp_servers"),
    "add a role": (add(Kind.ROLE, "qa", {"allow": ["git/*"]}), "roles"),
    "change a role": (replace(Kind.ROLE, "dev", {"allow": ["git/*"]}), "roles"),
    "remove a role": (remove(Kind.ROLE, "dev"), "roles"),
    "declare a type": (declare(Kind.AGENT_TYPE, "SUPERVISOR", {"allow": []}), "agent_types"),
    "change a type": (declare(Kind.AGENT_TYPE, "WORKER", {"allow": []}), "agent_types"),
    "remove a type": (remove(Kind.AGENT_TYPE, "WORKER"), "agent_types"),
    "add a grant": (add_grant({"group": "qa", "effect": "deny", "server": "git"}), "grants"),
    "change a grant": (replace_grant(grant_id(GRANT), {**GRANT, "user": "bob"}), "grants"),
    "remove a grant": (remove_grant(grant_id(DENY)), "grants"),
    "set options": (set_toolset_options({"addQueryTools": True}), "toolsets"),
    "set retention": (set_retention(days=30, rows=1000), "audit"),
}


@pytest.mark.parametrize("named", EDITS, ids=list(EDITS))
def test_an_edit_changes_its_section_alone_and_leaves_the_old_document(named: str) -> None:
    edit, section = EDITS[named]
    old = _document()

    new = edit(old)

    assert old == _document()
    assert new[section] != old[section]
    assert {key: new[key] for key in old if key != section} == {
        key: value for key, value in old.items() if key != section
    }
    assert parse_document(new).declaration.document == new


def test_what_is_added_comes_last_and_what_is_changed_stays_in_its_place() -> None:
    document = add(Kind.SERVER, "aaa", {"command": "a"})(_document())
    document = replace(Kind.SERVER, "git", {"command": "g"})(document)

    assert list(entries(document, Kind.SERVER)) == ["git", "wiki", "aaa"]
    assert get_entry(document, Kind.SERVER, "git") == {"command": "g"}


def test_a_merge_changes_what_it_names_and_null_removes() -> None:
    # RFC 7396; camelCase is accepted as in a file
    patch = {"defaultAccess": None, "headers": {"X-A": "${A}"}, "timeout": 5}
    document = merge(Kind.SERVER, "wiki", patch)(_document())
    assert get_entry(document, Kind.SERVER, "wiki") == {
        "url": WIKI["url"],
        "headers": {"X-A": "${A}"},
        "timeout": 5,
    }

    document = merge(Kind.SERVER, "wiki", {"headers": {"X-A": None, "X-B": "${B}"}})(document)

    assert get_entry(document, Kind.SERVER, "wiki")["headers"] == {"X-B": "${B}"}


def test_a_server_is_disabled_and_enabled_again_with_all_that_it_says() -> None:
    document = switch_server("wiki", enabled=False)(_document())
    assert get_entry(document, Kind.SERVER, "wiki") == {**WIKI, "enabled": False}

    document = switch_server("wiki", enabled=True)(document)

    assert get_entry(document, Kind.SERVER, "wiki") == {**WIKI, "enabled": True}


def test_camel_case_is_stored_in_the_spelling_of_the_contract() -> None:
    document = add(Kind.SERVER, "w", {"endpoint": "https://w.test", "startTimeout": 9})({})

    assert get_entry(document, Kind.SERVER, "w") == {"url": "https://w.test", "start_timeout": 9}
    with pytest.raises(DeclarationError, match="two spellings"):
        add(Kind.SERVER, "w", {"url": "https://w.test", "endpoint": "https://v.test"})({})


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (replace(Kind.SERVER, "gti", {}), "no server 'gti' is declared; did you mean 'git'?"),
        (merge(Kind.ROLE, "x", {}), "no role 'x' is declared; declared: dev"),
        (remove(Kind.AGENT_TYPE, "BOSS"), "no agent type 'BOSS' is declared; declared: WORKER"),
        (switch_server("nothing", enabled=True), "no server 'nothing'"),
        (remove_grant("0"), "there is no grant '0'"),
        (replace_grant("0", GRANT), "there is no grant '0'"),
    ],
    ids=["replace", "merge", "remove", "switch", "remove grant", "replace grant"],
)
def test_what_is_not_declared_cannot_be_changed(edit: Edit, told: str) -> None:
    with pytest.raises(NotFound) as refusal:
        edit(_document())

    assert told in str(refusal.value)


@pytest.mark.parametrize(
    "edit",
    [
        add(Kind.SERVER, "git", {"command": "g"}),
        add(Kind.ROLE, "dev", {}),
        add_grant(GRANT),
        replace_grant(grant_id(DENY), GRANT),
    ],
    ids=["server", "role", "grant", "changed grant"],
)
def test_what_is_declared_already_is_not_added(edit: Edit) -> None:
    with pytest.raises(Conflict, match="declared already"):
        edit(_document())


def test_a_grant_has_an_id_that_outlives_its_place_and_not_its_meaning() -> None:
    document = _document()
    wanted = grant_id(GRANT)
    assert get_grant(document, wanted) == GRANT

    document = add_grant({**GRANT, "user": "bob"})(remove_grant(grant_id(DENY))(document))

    assert get_grant(document, wanted) == GRANT
    assert grant_id(dict(reversed(GRANT.items()))) == wanted
    document = replace_grant(wanted, {**GRANT, "enabled": False})(document)
    assert wanted not in grants(document)
    assert [one["user"] for one in grants(document).values()] == ["ann", "bob"]


def test_a_document_without_the_section_gets_one() -> None:
    assert add(Kind.ROLE, "r", {})({}) == {"roles": {"r": {}}}
    assert add_grant(GRANT)({}) == {"grants": [GRANT]}
    assert set_toolset_options({"addQueryTools": False})({}) == {
        "toolsets": {"developer": {"addQueryTools": False}}
    }


def test_an_option_that_is_not_sent_stays_and_false_is_kept() -> None:
    # S2.13, S2.15
    document = set_toolset_options({"allowOntologyMaintenance": False})(_document())

    assert document["toolsets"] == {
        "developer": {"addQueryTools": False, "enabled": True},
        "user": {"allowOntologyMaintenance": False},
    }
    assert set_toolset_options({})(document) == document


def test_bounds_of_the_record_are_what_is_said_and_the_rest_of_its_section_stays() -> None:
    # S2.48
    assert set_retention(days=30, rows=None)(_document())["audit"] == {
        "body_cap": 10,
        "retention_days": 30,
    }
    assert set_retention(days=None, rows=None)({"audit": {"retention_days": 1}}) == {}


def test_an_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadCall, match="did you mean 'addQueryTools'"):
        set_toolset_options({"addQueryTool": True})


_OPTIONS = st.dictionaries(st.sampled_from(sorted(TOOLSET_OPTIONS)), st.booleans())


@given(st.lists(_OPTIONS, max_size=5))
def test_after_any_changes_each_option_is_what_was_said_last_and_true_by_default(
    patches: list[dict[str, bool]],
) -> None:
    # S2.5
    document: Mapping[str, object] = {}
    for patch in patches:
        document = set_toolset_options(patch)(document)

    said: dict[str, bool] = {}
    for patch in patches:
        said |= patch
    options = parse_document(document).declaration.toolsets
    assert options.allow_ontology_maintenance is said.get("allowOntologyMaintenance", True)
    assert options.add_query_tools is said.get("addQueryTools", True)
    assert options.add_ontology_maintenance is said.get("addOntologyMaintenance", True)
