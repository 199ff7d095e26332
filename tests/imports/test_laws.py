"""Whatever a file holds: it is imported, or refused with a reason; never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.imports.golden import GOLDEN

from remit.admin.check import check_declaration
from remit.admin.declaration import load_declaration
from remit.admin.imports.gather import Imported, gather
from remit.admin.imports.proposals import propose
from remit.admin.imports.writing import document_of, scalar
from remit.admin.yaml_source import read_text
from remit.errors import DeclarationError, Problem
from remit.model.tools import Hints

SAMPLES = (
    b'{"mcpServers": {"a": {"command": "npx", "args": ["-y", "${X:-${Y}}"], "env": {"K": "v"}}}}',
    b'{"servers": [{"name": "b", "type": "http", "url": "https://h.test/mcp?key=${input:k}"}]}',
    b'[mcp_servers.c]\ncommand = "uvx"\nargs = ["x"]\nstartup_timeout_ms = 500\n',
    b"binds:\n- listeners:\n  - routes:\n    - backends:\n      - mcp: {targets: [{name: t}]}\n",
)
KEYS = st.sampled_from(
    [
        *("mcpServers", "servers", "mcp", "inputs", "entities", "gateways", "binds", "targets"),
        *("registry", "image", "secrets", "env", "command", "args", "url", "type", "headers"),
        *("transport", "timeout", "enabled", "disabled", "auth_type", "auth_value", "name", "id"),
        *("bearerToken", "includeTools", "excludeTools", "envFile", "cwd", "remote", "projects"),
        *("Authorization", "X-Api-Key", "API_KEY", "a", "b", "__", "execute", ""),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *("${A}", "${A:-b}", "${", "${}", "$${A}", "${input:k}", "${env:A-}", "$A", "%A%"),
            *("{env:A}", "{{a.b}}", "os.environ/A", "${REMIT_KEY}", "Bearer abc", "http", "SSE"),
            *("stdio", "https://u:p@h.test/mcp?token=1", "npx -y mcp-remote", "mcp-remote@1"),
            *("--header", "Authorization: x", "cmd", "uvx mcp-server-time", "\ud83d\ude00", "\x85"),
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=5)
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mangled")


def import_all(file: Path, written: Path) -> None:
    """Import a file, or see it refused; what is written must load, without an error."""
    problems: tuple[Problem, ...] = ()
    found = Imported(servers=(), notes=(), variables={})
    try:
        found = gather([file])
    except DeclarationError as error:
        problems = error.problems
    assert bool(found.servers) is not bool(problems)
    assert all(problem.file and problem.message for problem in problems)
    if not found.servers:
        return
    hints = {server.name: {"t/x": Hints(read_only=True)} for server in found.servers[:1]}
    written.write_text(document_of(found, propose(found.servers, hints)), encoding="utf-8")
    loaded = load_declaration(written)
    assert check_declaration(loaded, environ={}).errors == ()
    assert {name: config.url for name, config in loaded.declaration.servers.items()} == {
        server.name: server.config.url for server in found.servers
    }


@given(
    sample=st.sampled_from(SAMPLES),
    edits=st.lists(
        st.tuples(
            st.floats(min_value=0, max_value=1),
            st.integers(min_value=0, max_value=9),
            st.binary(max_size=4),
        ),
        max_size=4,
    ),
    suffix=st.sampled_from([".json", ".toml", ".yaml", ""]),
)
def test_a_mangled_file_is_imported_or_refused(
    folder: Path, sample: bytes, edits: list[tuple[float, int, bytes]], suffix: str
) -> None:
    for place, gone, put in edits:
        at = int(place * len(sample))
        sample = sample[:at] + put + sample[at + gone :]
    file = folder / f"mangled{suffix}"
    file.write_bytes(sample)

    import_all(file, folder / "remit.yaml")


@given(inside=VALUES, key=KEYS)
def test_any_data_under_a_known_key_is_imported_or_refused(
    folder: Path, inside: Any, key: str
) -> None:
    file = folder / "any.json"
    file.write_text(json.dumps({key: inside}), encoding="utf-8")

    import_all(file, folder / "remit.yaml")


@given(entry=st.dictionaries(KEYS, VALUES, max_size=6), name=TEXTS)
def test_any_entry_of_a_server_is_imported_or_refused(
    folder: Path, entry: dict[str, Any], name: str
) -> None:
    file = folder / "entry.json"
    whole = {"mcpServers": {name: entry, "sound": {"command": "c"}}}
    file.write_text(json.dumps(whole), encoding="utf-8")

    import_all(file, folder / "remit.yaml")


@given(name=st.sampled_from(sorted(GOLDEN)), place=st.floats(0, 1), gone=st.integers(1, 40))
def test_a_handed_file_with_a_hole_is_imported_or_refused(
    shared: Path, folder: Path, name: str, place: float, gone: int
) -> None:
    whole = (shared / "configs" / name).read_bytes()
    at = int(place * len(whole))
    file = folder / f"hole{Path(name).suffix}"
    file.write_bytes(whole[:at] + whole[at + gone :])

    import_all(file, folder / "remit.yaml")


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_written_as_a_text_is_read_as_the_same(text: str) -> None:
    document = f"[{scalar(text)}, {{{scalar(text)}: 1}}]\n"

    items: Any = read_text(document, items="items").data["items"]

    assert items == [text, {text: 1}]
    assert yaml.safe_load(document)[0] == text
