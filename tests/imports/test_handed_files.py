"""Each of the 22 handed files becomes what a person reads in it (R20, T18)."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.imports.golden import DEFINES_NONE, GOLDEN, NOTES

from remit.admin.check import check_declaration
from remit.admin.declaration import Loaded, load_declaration
from remit.admin.imports.gather import Imported, gather
from remit.admin.imports.proposals import propose
from remit.admin.imports.writing import document_of, write_new
from remit.admin.known_servers import hints_by
from remit.errors import DeclarationError
from remit.model.servers import ServerConfig

CLEAR = ("replace-me", "plain-text-demo-key")
"""The secrets that stand in the handed files in clear."""


def imported(shared: Path, name: str) -> Imported:
    return gather([shared / "configs" / name])


def written(shared: Path, name: str, folder: Path) -> Loaded:
    """Import a file, write the declaration and load it again."""
    found = imported(shared, name)
    known = {server.name: hints_by(server.config) for server in found.servers}
    offers = {server: hints for server, hints in known.items() if hints is not None}
    path = folder / "remit.yaml"
    assert write_new(path, document_of(found, propose(found.servers, offers)), replace=False)
    return load_declaration(path)


def said_of(config: ServerConfig) -> dict[str, Any]:
    """Return what an entry says beyond defaults; stdio is one."""
    plain = ServerConfig(name=config.name)
    said = {
        one.name: getattr(config, one.name)
        for one in fields(config)
        if getattr(config, one.name) != getattr(plain, one.name)
    }
    return {key: str(value) if key == "transport" else value for key, value in said.items()}


def test_every_handed_file_has_a_golden_reading(shared: Path) -> None:
    handed = {path.name for path in (shared / "configs").iterdir()}

    assert handed == GOLDEN.keys() | {DEFINES_NONE}
    assert GOLDEN.keys() == NOTES.keys()


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_means_the_same_after_writing_and_loading(
    shared: Path, name: str, tmp_path: Path
) -> None:
    loaded = written(shared, name, tmp_path)

    servers = loaded.declaration.servers
    assert {server: said_of(config) for server, config in servers.items()} == GOLDEN[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_written_passes_the_check_without_an_error(
    shared: Path, name: str, tmp_path: Path
) -> None:
    loaded = written(shared, name, tmp_path)

    report = check_declaration(loaded, environ={})

    assert report.errors == ()
    told = {problem.code for problem in report.warnings}
    assert told <= {"missing-variable", "command-not-found", "empty-allow-list"}
    assert list(loaded.declaration.roles) == ["reader", "writer", "admin"]


@pytest.mark.parametrize("name", NOTES)
def test_what_was_changed_or_left_is_said_with_its_line(shared: Path, name: str) -> None:
    notes = imported(shared, name).notes

    assert {(note.code, note.field) for note in notes} == NOTES[name]
    assert all(note.line > 0 for note in notes)


@pytest.mark.parametrize("name", GOLDEN)
def test_no_secret_in_clear_is_written_or_said(shared: Path, name: str, tmp_path: Path) -> None:
    written(shared, name, tmp_path)

    text = (tmp_path / "remit.yaml").read_text()
    said = repr(imported(shared, name))
    assert [secret for secret in CLEAR if secret in text or secret in said] == []


def test_a_file_that_defines_no_server_is_refused_with_that_reason(shared: Path) -> None:
    with pytest.raises(DeclarationError, match="defines no server: it is a group") as refused:
        imported(shared, DEFINES_NONE)

    (problem,) = refused.value.problems
    assert problem.file.endswith(DEFINES_NONE)
    assert problem.remedy


def test_all_files_together_keep_every_server_under_a_name_of_its_own(
    shared: Path, tmp_path: Path
) -> None:
    files = [shared / "configs" / name for name in GOLDEN]

    found = gather(files)

    path = tmp_path / "remit.yaml"
    write_new(path, document_of(found, propose(found.servers, {})), replace=False)
    servers = load_declaration(path).declaration.servers
    once = [note for note in found.notes if note.code == "same-server"]
    assert len(servers) == sum(len(one) for one in GOLDEN.values()) - len(once)
    assert {"tickets", "tickets-2", "tickets-3"} <= servers.keys()


def test_a_tool_that_was_switched_off_is_denied_to_everybody(shared: Path, tmp_path: Path) -> None:
    grants = written(shared, "10-gemini-settings.json", tmp_path).declaration.grants

    assert [(grant.subject, grant.effect, grant.tool) for grant in grants] == [
        ("*", "deny", "tickets/delete_ticket")
    ]


def test_only_the_tools_that_were_open_are_granted(shared: Path, tmp_path: Path) -> None:
    admin = written(shared, "10-gemini-settings.json", tmp_path).declaration.roles["admin"]

    assert admin.tools == {"tickets": ("list_tickets", "get_ticket")}
    assert admin.allow == ("old_feed/*",)


def test_known_tools_are_proposed_by_what_they_say_of_themselves(
    shared: Path, tmp_path: Path
) -> None:
    roles = written(shared, "13-mcpo-config.json", tmp_path).declaration.roles

    assert roles["reader"].tools == {"time": ("get_current_time", "convert_time")}
    assert roles["writer"].tools == roles["reader"].tools
    assert set(roles["admin"].allow) == {"time/*", "feed/*", "tickets/*"}
