"""What a file may write, what is in force beside it, and going back (R18)."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.admin.change_record import Progress
from remit.admin.declaration import Loaded, parse_document
from remit.admin.revisions import (
    Follower,
    apply_file,
    as_yaml,
    declaration_in_force,
    roll_back,
)
from remit.admin.yaml_source import read_text
from remit.calls.inforce import PolicyInForce
from remit.errors import Conflict, DeclarationError, NotFound, Outdated
from remit.model.revisions import Revision
from remit.model.servers import ServerConfig
from remit.storage.revisions import digest_of
from remit.testing.fakes import InMemoryRevisions

SINCE = "what was changed since it was last applied"
NOW = datetime(2026, 11, 28, 1, 0, tzinfo=UTC)


def _file(*tools: str) -> Loaded:
    return parse_document(_document(*tools), file="remit.yaml")


def _document(*tools: str) -> dict[str, Any]:
    return {
        "mcp_servers": {"git": {"builtin": "git"}},
        "roles": {"dev": {"tools": {"git": list(tools)}}},
    }


async def _start(
    store: InMemoryRevisions,
    *tools: str,
    author: str = "serve",
    replace: bool = False,
    recorded: list[tuple[str, int, int]] | None = None,
) -> tuple[tuple[str, ...], int]:
    """Return the tools that are in force, and the revision, for whoever starts beside a file."""
    loaded, number = await declaration_in_force(
        store,
        "default",
        _file(*tools),
        author=author,
        now=NOW,
        recording=_Recorded([] if recorded is None else recorded).making,
        replace=replace,
    )
    return loaded.declaration.roles["dev"].tools["git"], number


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Keeps (reason, revision before, revision after) of each change."""

    kept: list[tuple[str, int, int]]

    @asynccontextmanager
    async def making(self, reason: str, revision: int) -> AsyncGenerator[Progress]:
        progress = Progress(revision=revision)
        yield progress
        self.kept.append((reason, revision, progress.revision))


async def _console(store: InMemoryRevisions, *tools: str) -> None:
    await store.write("default", _document(*tools), author="user:ann", reason="", now=NOW)


async def test_a_file_that_changes_is_a_new_revision_and_one_that_does_not_is_none() -> None:
    store = InMemoryRevisions()

    assert await _start(store, "a") == (("a",), 1)
    assert await _start(store, "a") == (("a",), 1)
    assert await _start(store, "b") == (("b",), 2)
    assert await _start(store, "a") == (("a",), 3)


async def test_a_revision_that_a_start_writes_is_on_record_and_nothing_else() -> None:
    store, recorded = InMemoryRevisions(), list[tuple[str, int, int]]()

    for tool in ("a", "a", "b"):
        await _start(store, tool, recorded=recorded)
    await _start(store, "c", author="", recorded=recorded)
    await _console(store, "b", "c")
    with pytest.raises(Conflict):
        await _start(store, "d", recorded=recorded)
    await _start(store, "d", replace=True, recorded=recorded)

    assert recorded == [
        ("from remit.yaml", 0, 1),
        ("from remit.yaml", 1, 2),
        ("from remit.yaml", 3, 4),
    ]


async def test_what_others_wrote_counts_while_the_file_stays_as_it_is() -> None:
    store = InMemoryRevisions()
    await _start(store, "a")
    await _console(store, "b")

    for author in ("serve", ""):
        assert await _start(store, "a", author=author) == (("b",), 2)


async def test_a_changed_file_that_would_overwrite_others_is_refused_with_the_difference() -> None:
    store = InMemoryRevisions()
    await _start(store, "a")
    await _console(store, "b")

    with pytest.raises(Conflict) as refusal:
        await _start(store, "c")

    assert str(refusal.value).splitlines() == [
        f"remit.yaml would overwrite {SINCE}: revision 2 by user:ann",
        '  - roles.dev.tools.git: "b"',
        '  + roles.dev.tools.git: "c"',
        "take over what is in force with `remit export`, or overwrite it with --replace",
    ]
    assert await _start(store, "c", author="") == (("b",), 2)
    assert await _start(store, "c", replace=True) == (("c",), 3)
    assert await _start(store, "d") == (("d",), 4)


async def test_a_file_that_took_over_what_others_wrote_may_go_on_from_there() -> None:
    store = InMemoryRevisions()
    await _start(store, "a")
    await _console(store, "b")

    assert await _start(store, "b") == (("b",), 2)
    assert await _start(store, "b", "c") == (("b", "c"), 3)


async def test_a_rollback_outlives_a_restart_with_the_file_that_it_took_back() -> None:
    store = InMemoryRevisions()
    await _start(store, "a")
    await _start(store, "b")

    await roll_back(store, "default", 1, author="cli", reason="incident", now=NOW)

    assert await _start(store, "b") == (("a",), 3)
    with pytest.raises(Conflict, match="revision 3 by cli"):
        await _start(store, "c")


async def test_applying_a_file_that_others_have_overtaken_is_refused() -> None:
    store = InMemoryRevisions()
    await _start(store, "a")
    await _console(store, "b")

    with pytest.raises(Conflict):
        await apply_file(store, "default", _file("a"), author="cli", reason="", now=NOW)


class Overtaken(InMemoryRevisions):
    """Revisions of which somebody else always writes one just before we do, once."""

    def __init__(self, *tools: str) -> None:
        super().__init__()
        self._others: Loaded | None = _file(*tools)

    async def write(self, *args: Any, **more: Any) -> Revision:
        """Write what the other says first."""
        others, self._others = self._others, None
        if others is not None:
            document = others.declaration.document
            await super().write("default", document, author="serve", reason="", now=NOW)
        return await super().write(*args, **more)


async def test_two_workers_that_apply_the_same_file_at_once_agree() -> None:
    loaded = _file("a")
    revision = await apply_file(
        Overtaken("a"), "default", loaded, author="serve", reason="", now=NOW
    )

    assert (revision.number, revision.from_file) == (1, True)
    with pytest.raises(Outdated, match="was written meanwhile"):
        await apply_file(Overtaken("b"), "default", loaded, author="serve", reason="", now=NOW)


async def test_deciding_by_a_changed_file_writes_nothing() -> None:
    store = InMemoryRevisions()

    assert await _start(store, "a", author="") == (("a",), 1)
    await _start(store, "a")
    assert await _start(store, "b", author="") == (("b",), 2)
    assert len(await store.summaries("default")) == 1


async def test_going_back_to_what_is_not_there_or_not_valid_is_refused() -> None:
    store = InMemoryRevisions()
    await store.write("default", {"rolls": {}}, author="x", reason="", now=NOW)
    await _console(store, "b")

    with pytest.raises(NotFound):
        await roll_back(store, "default", 3, author="cli", reason="", now=NOW)
    with pytest.raises(DeclarationError, match="revision 1"):
        await roll_back(store, "default", 1, author="cli", reason="", now=NOW)


class _Fleet:
    def __init__(self) -> None:
        self.configured: list[list[str]] = []

    def reconfigure(self, servers: dict[str, ServerConfig] | Any) -> None:
        self.configured.append(list(servers))


async def test_a_follower_puts_in_force_what_is_newer_and_valid_and_nothing_else() -> None:
    # R17
    store, fleet = InMemoryRevisions(), _Fleet()
    policy = PolicyInForce(_file("a").declaration, tenant="default", revision=1)
    follower = Follower(store, policy, fleet, tenant="default")
    assert not await follower.follow()

    await _start(store, "a")
    assert not await follower.follow()
    await _console(store, "b")
    assert await follower.follow()
    assert (policy.revision, fleet.configured) == (2, [["git"]])

    await store.write(
        "default", {"roles": {"dev": {"allow": ["x"]}}}, author="", reason="", now=NOW
    )
    assert not await follower.follow()
    assert policy.revision == 2
    assert policy.declaration.roles["dev"].tools["git"] == ("b",)
    assert len(fleet.configured) == 1


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20) | st.sampled_from(
    ["yes", "no", "1.0", "1e3", "0x1", "~", "null", "2026-11-28", "<<", "=", "a: b", "# x", " x "]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, JSON, min_size=1, max_size=5))
def test_what_is_exported_reads_back_as_the_same(document: dict[str, Any]) -> None:
    assert digest_of(read_text(as_yaml(document)).data) == digest_of(document)
