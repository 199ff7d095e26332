"""Writing an edit: validated as a file is, with author and reason, never over somebody else's."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from remit.admin.declaration import parse_document
from remit.admin.editor import ATTEMPTS, LONGEST_REASON, Editor
from remit.admin.edits import (
    Document,
    Edit,
    Kind,
    add,
    add_grant,
    entries,
    merge,
    remove,
    switch_server,
)
from remit.admin.subjects import Subjects
from remit.errors import (
    BadCall,
    Conflict,
    DeclarationError,
    NotFound,
    Outdated,
    StorageUnavailable,
)
from remit.model.agents import Agent
from remit.model.keys import Key
from remit.model.principals import AgentType
from remit.model.revisions import Revision
from remit.model.tools import Tool, ToolId
from remit.storage.database import Database
from remit.storage.revisions import Revisions
from remit.testing.fakes import InMemoryAgents, InMemoryKeys, InMemoryRevisions, InMemoryUsers

NOW = datetime(2026, 11, 28, 3, 0, tzinfo=UTC)
START: dict[str, Any] = {
    "mcp_servers": {"git": {"builtin": "git"}},
    "roles": {"dev": {"tools": {"git": ["git_log"]}}},
}


class _Seen:
    def __init__(self, *tools: str) -> None:
        self._tools = [ToolId(*tool.split("/")) for tool in tools]

    async def all_tools(self, tenant: str) -> Sequence[Tool]:
        assert tenant == "default"
        return [Tool(id=one, wire=b"{}", input_schema=b"{}") for one in self._tools]


def subjects_of(tenant: str, now: datetime) -> Subjects:
    """Return what finds the one key and the one agent that there are."""
    worker = Agent(id="w1", tenant=tenant, type=AgentType.WORKER, role="dev", created=NOW)
    ci = Key(id="1", name="ci", tenant=tenant, secret_hash="0f", created=NOW, roles=("dev",))
    return Subjects(
        tenant=tenant,
        roles=(),
        keys=InMemoryKeys(ci),
        agents=InMemoryAgents(worker),
        users=InMemoryUsers(),
        now=now,
    )


class _World:
    """An editor over a store in memory, and whom it told."""

    def __init__(self, store: InMemoryRevisions | None = None, *seen: str) -> None:
        self.store = store or InMemoryRevisions()
        self.followed: list[str] = []
        self.edit = Editor(
            self.store,
            _Seen(*seen),
            environ={},
            subjects=subjects_of,
            follow=self._follow,
            now=lambda: NOW,
        )

    async def _follow(self, tenant: str) -> None:
        self.followed.append(tenant)

    async def begin(self, document: Mapping[str, object] = START) -> None:
        await self.store.write(
            "default", document, author="serve", reason="file", now=NOW, from_file=True
        )


async def _write(world: _World, edit: Edit, expected: int | None = None) -> int:
    edited = await world.edit.write(
        "default", edit, author="user:ann", reason="because", expected=expected
    )
    return edited.number


async def test_an_edit_is_a_revision_with_author_and_reason_and_in_force_at_once() -> None:
    world = _World()
    await world.begin()

    edited = await world.edit.write(
        "default",
        merge(Kind.ROLE, "dev", {"tools": {"git": ["git_log", "git_diff"]}}),
        author="key:admin",
        reason="  ann needs to see changes ",
        expected=1,
    )

    latest = await world.store.latest("default")
    assert latest is not None
    assert (edited.number, edited.is_written, world.followed) == (2, True, ["default"])
    assert (latest.number, latest.author) == (2, "key:admin")
    assert (latest.reason, latest.created) == ("ann needs to see changes", NOW)
    assert not latest.from_file
    assert latest.document == edited.document
    assert [str(change) for change in edited.changes] == ['+ roles.dev.tools.git: "git_diff"']
    assert [str(change) for change in edited.authority] == [
        "role:dev gains git/git_diff: roles.dev.tools.git[1]"
    ]


async def test_who_loses_what_counts_tools_that_were_only_seen() -> None:
    world = _World(None, "odd/one", "odd/two")
    await world.begin(
        {"mcp_servers": {"odd": {"command": "o"}}, "roles": {"r": {"allow": ["odd/*"]}}}
    )

    edited = await world.edit.rehearse("default", switch_server("odd", enabled=False))

    assert [(one.subject, str(one.tool), one.gains) for one in edited.authority] == [
        ("role:r", "odd/one", False),
        ("role:r", "odd/two", False),
    ]


async def test_a_rehearsal_says_what_would_be_and_writes_nothing() -> None:
    world = _World()
    await world.begin()

    edited = await world.edit.rehearse("default", remove(Kind.ROLE, "dev"), expected=1)

    assert (edited.number, edited.is_written) == (2, False)
    assert [one.gains for one in edited.authority] == [False]
    assert [one.number for one in await world.store.summaries("default")] == [1]
    assert world.followed == []


async def test_an_edit_that_changes_nothing_makes_no_revision() -> None:
    world = _World()
    await world.begin()

    edited = await world.edit.write("default", merge(Kind.ROLE, "dev", {}), author="x", reason="y")

    assert (edited.number, edited.is_written, edited.changes) == (1, False, ())
    assert (await world.edit.rehearse("default", merge(Kind.ROLE, "dev", {}))).number == 1


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (add(Kind.SERVER, "a__b", {"command": "x"}), "'mcp_servers.a__b' is no server name"),
        (add(Kind.SERVER, "x", {}), "'mcp_servers.x' needs one of `command`, `url` and `builtin`"),
        (
            add(Kind.SERVER, "x", {"comand": "y"}),
            "unknown key 'comand' in 'mcp_servers.x'; did you mean 'command'?",
        ),
        (
            add(Kind.SERVER, "x", {"command": "y", "timeout": "long"}),
            "'mcp_servers.x.timeout' must be a number, not a text",
        ),
        (
            add(Kind.ROLE, "r", {"alow": []}),
            "unknown key 'alow' in 'roles.r'; did you mean 'allow'?",
        ),
        (add(Kind.ROLE, "r", {"allow": [""]}), "'roles.r.allow[0]' is no pattern"),
        (add(Kind.ROLE, "r", {"allow": ["git"]}), "'roles.r.allow[0]' is no pattern"),
        (
            merge(Kind.ROLE, "dev", {"tools": {"git": {"git_push": {"branch": "main"}}}}),
            "rules on arguments are not in this release (R36)",
        ),
        (add(Kind.AGENT_TYPE, "WORKR", {}), "is no agent type; did you mean 'WORKER'?"),
        (add_grant({"user": "ann", "server": "git"}), "'grants[0]' needs `effect`"),
        (
            add_grant({"user": "ann", "effect": "allow", "server": "git", "until": "soon"}),
            "'grants[0].until' is no moment with a time zone",
        ),
    ],
    ids=[
        *("server name", "no way", "typo", "type", "alow", "empty pattern", "bare pattern"),
        *("argument rule", "agent type", "no effect", "until"),
    ],
)
async def test_what_a_file_could_not_say_an_edit_cannot_and_field_and_remedy_are_named(
    edit: Edit, told: str
) -> None:
    # R15, R16, R36, T20
    world = _World()
    await world.begin()

    with pytest.raises(DeclarationError) as refusal:
        await _write(world, edit)

    assert told in str(refusal.value)
    assert (await world.edit.current("default"))[0] == 1
    assert world.followed == []


async def test_an_edit_for_another_revision_than_the_current_one_is_refused() -> None:
    world = _World()
    await world.begin()
    assert await _write(world, switch_server("git", enabled=False), expected=1) == 2

    with pytest.raises(Outdated, match="revision 2 is the current one, not 1"):
        await _write(world, remove(Kind.ROLE, "dev"), expected=1)
    with pytest.raises(Outdated, match="revision 2 is the current one, not 1"):
        await world.edit.rehearse("default", remove(Kind.ROLE, "dev"), expected=1)

    assert "dev" in entries((await world.edit.current("default"))[1], Kind.ROLE)


async def test_the_first_edit_of_a_tenant_begins_with_nothing() -> None:
    world = _World()

    assert await world.edit.current("default") == (0, {})
    assert await _write(world, add(Kind.ROLE, "r", {}), expected=0) == 1
    with pytest.raises(Outdated):
        await _write(world, add(Kind.ROLE, "s", {}), expected=0)


class _Overtaken(InMemoryRevisions):
    """A store to which somebody else writes just before each writing of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 0

    async def write(self, tenant: str, document: Mapping[str, object], **settings: Any) -> Revision:
        latest = await self.latest(tenant)
        if latest is not None and self.left:
            self.left -= 1
            theirs = add(Kind.ROLE, f"theirs-{self.left}", {})(latest.document)
            await super().write(tenant, theirs, author="them", reason="", now=NOW)
        return await super().write(tenant, document, **settings)


async def test_an_edit_that_was_overtaken_is_made_again_of_what_the_other_wrote() -> None:
    store = _Overtaken()
    world = _World(store)
    await world.begin()
    store.left = 3

    number = await _write(world, add(Kind.ROLE, "ours", {}))

    document = (await world.edit.current("default"))[1]
    assert number == 5
    assert set(entries(document, Kind.ROLE)) == {
        *("dev", "ours", "theirs-0", "theirs-1", "theirs-2")
    }


async def test_an_edit_for_a_certain_revision_is_not_made_again() -> None:
    store = _Overtaken()
    world = _World(store)
    await world.begin()
    store.left = 1

    with pytest.raises(Outdated, match="revision 2 was written meanwhile"):
        await _write(world, add(Kind.ROLE, "ours", {}), expected=1)

    assert "ours" not in entries((await world.edit.current("default"))[1], Kind.ROLE)


async def test_an_edit_of_a_grant_says_who_loses_of_those_whom_it_names() -> None:
    world = _World(None, "git/git_log")
    await world.begin()

    told = [
        await world.edit.rehearse(
            "default", add_grant({whom: name, "effect": "deny", "server": "git"})
        )
        for whom, name in (("key", "ci"), ("agent", "w1"), ("key", "nobody"))
    ]

    assert [[str(one) for one in edited.authority] for edited in told] == [
        ["key:ci loses git/git_log: server 'git' is denied to key:ci"],
        ["agent:w1 loses git/git_log: server 'git' is denied to agent:w1"],
        [],
    ]


async def test_an_edit_that_is_overtaken_every_time_gives_up() -> None:
    store = _Overtaken()
    world = _World(store)
    await world.begin()
    store.left = ATTEMPTS

    with pytest.raises(Conflict):
        await _write(world, add(Kind.ROLE, "ours", {}))


async def test_of_many_at_once_none_is_lost(database: Database) -> None:
    store, seen = Revisions(database), _Seen()

    async def follow(tenant: str) -> None:
        assert tenant == "default"

    async def one(name: str) -> None:
        editor = Editor(
            store, seen, environ={}, subjects=subjects_of, follow=follow, now=lambda: NOW
        )
        await editor.write("default", add(Kind.ROLE, name, {}), author=f"user:{name}", reason="r")

    names = [f"r{number}" for number in range(6)]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)

    latest = await store.latest("default")
    assert latest is not None
    assert latest.number == len(names)
    assert set(entries(latest.document, Kind.ROLE)) == set(names)


@pytest.mark.parametrize(
    "reason",
    ["", "  ", "x" * (LONGEST_REASON + 1), "a\nb", "\0"],
    ids=["empty", "blank", "long", "lines", "control"],
)
async def test_a_change_needs_a_reason_of_one_line(reason: str) -> None:
    world = _World()

    with pytest.raises(BadCall, match="say why in one line"):
        await world.edit.write("default", add(Kind.ROLE, "r", {}), author="x", reason=reason)

    assert await world.edit.current("default") == (0, {})


async def test_a_secret_in_a_reason_is_not_kept() -> None:
    world = _World()
    reason = "rotated rmt_abcdefgh_0123456789abcdef"

    await world.edit.write("default", add(Kind.ROLE, "r", {}), author="x", reason=reason)

    latest = await world.store.latest("default")
    assert latest is not None
    assert latest.reason == "rotated [redacted]"


async def test_what_becomes_suspicious_is_said_and_what_was_is_not() -> None:
    world = _World(None, "git/git_log")
    await world.begin({**START, "roles": {"dev": {"tools": {"git": ["gone"]}}}})
    entry = {"url": "https://h.test", "headers": {"Authorization": "Bearer sentinel-5ff7"}}

    edited = await world.edit.rehearse("default", add(Kind.SERVER, "w", entry))

    assert "secret-in-clear" in [one.code for one in edited.warnings]
    told = "\n".join(map(str, edited.warnings))
    assert "sentinel" not in told
    assert "gone" not in told
    assert "sentinel" not in "\n".join(map(str, edited.changes))


async def test_a_revision_that_this_version_cannot_use_can_be_mended() -> None:
    world = _World()
    await world.begin({"roles": {"bad": {"alow": []}, "good": {}}})

    with pytest.raises(DeclarationError, match="alow"):
        await _write(world, add(Kind.ROLE, "more", {}))
    assert await _write(world, remove(Kind.ROLE, "bad")) == 2

    assert parse_document((await world.edit.current("default"))[1]).declaration.roles.keys() == {
        "good"
    }


async def test_what_cannot_be_put_in_force_here_at_once_is_written_all_the_same() -> None:
    store = InMemoryRevisions()

    async def follow(tenant: str) -> None:
        raise StorageUnavailable(f"{tenant}: away")

    editor = Editor(
        store,
        _Seen(),
        environ={},
        subjects=subjects_of,
        follow=follow,
        now=lambda: NOW + timedelta(1),
    )

    edited = await editor.write("default", add(Kind.ROLE, "r", {}), author="x", reason="y")

    assert (edited.number, edited.is_written) == (1, True)


async def test_an_edit_of_what_is_not_declared_is_refused() -> None:
    world = _World()
    await world.begin()

    def nothing(document: Document) -> Document:
        raise NotFound(f"none of {len(document)}")

    with pytest.raises(NotFound, match="none of 2"):
        await _write(world, nothing)
