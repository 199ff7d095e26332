"""What a file of opencode switches off under `tools` stays so, for everybody (docs/init.md)."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.admin.declaration import parse_document
from remit.admin.imports.gather import Imported, gather
from remit.admin.imports.proposals import propose
from remit.admin.imports.writing import document_of
from remit.admin.yaml_source import read_text
from remit.model.tools import Hints

READS = Hints(read_only=True)


def read(folder: Path, tools: Mapping[str, object], *servers: str) -> Imported:
    file = folder / "opencode.json"
    entry = {"type": "local", "command": ["mcp-server-time"]}
    file.write_text(json.dumps({"mcp": dict.fromkeys(servers, entry), "tools": tools}))
    return gather([file])


@pytest.mark.parametrize(
    ("key", "server", "denied"),
    [
        ("time_convert_time", "time", ["convert_time"]),
        ("time_*", "time", ["*"]),
        ("time*", "time", ["*"]),
        ("*", "time", ["*"]),
        ("time_get_*", "time", ["get_*"]),
        ("*_delete", "time", ["*_delete", "delete"]),
        ("ti**_a", "time", ["**_a", "a"]),
        ("my_db_main_query", "my db.main", ["query"]),
        ("time_", "time", []),
        ("bash", "time", []),
    ],
)
def test_a_key_denies_what_it_fits_of_a_server(
    tmp_path: Path, key: str, server: str, denied: list[str]
) -> None:
    found = read(tmp_path, {key: False}, server)

    (imported,) = found.servers
    assert list(imported.hidden) == denied
    told = {note.code for note in found.notes} - {"renamed"}
    assert told == {"tool-denied" if denied else "section-left-out"}


def test_what_is_switched_off_is_granted_to_nobody(tmp_path: Path) -> None:
    found = read(tmp_path, {"time_con*": False, "read_*": False, "time_x": True}, "time", "read")
    offers = {"time": {"convert": READS, "now": READS}, "read": {"page": READS}}

    proposal = propose(found.servers, offers)
    declared = parse_document(read_text(document_of(found, proposal)).data).declaration

    assert proposal.reader == {"time": ("now",)}
    assert [rule.tool for rule in declared.grants] == ["time/con*", "read/*"]
    assert [note.code for note in found.notes] == ["tool-denied", "tool-denied"]


@pytest.mark.parametrize("tools", [{"time_*": False, "time_now": True}, {"time_no?": False}])
def test_what_no_deny_says_is_told(tmp_path: Path, tools: Mapping[str, object]) -> None:
    notes = read(tmp_path, tools, "time").notes

    assert [note.message for note in notes if note.code == "careful"] == [
        "'time_now' was left on there, and is denied with those around it"
        if "time_*" in tools
        else "'time_no?' was switched off there, and no pattern here says the same"
    ]
