"""One suite over both kinds of toolset: a running gateway's, and this process's own."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest

from remit.bridges.toolset import Toolset
from remit.cli.serving import bind
from remit.errors import (
    CredentialRefused,
    DeclarationError,
    GatewayUnreachable,
    NotFound,
    Refused,
)
from remit.testing.gateway import Running, fixture_entry, run_remit, start_gateway
from remit.testing.upstream import executed, received

SCHEMA = {
    "type": "object",
    "properties": {"of": {"$ref": "#/$defs/Place"}},
    "required": ["of"],
    "$defs": {"Place": {"type": "string"}},
}
FAILURE = {"content": [{"type": "text", "text": "the shelf is empty"}], "isError": True}
STEPS = ['"progress":1,"total":3,"message":"found"', '"progress":2.5']
TOOLS: list[Any] = [
    {"name": "read", "title": "Read", "description": "Read a thing", "inputSchema": SCHEMA},
    {"name": "write", "annotations": {"destructiveHint": True}},
    {"name": "fail", "x-fixture": {"result": FAILURE}},
    {
        "name": "refuse",
        "x-fixture": {"error": {"code": -32000, "message": "There is no such shelf."}},
    },
    {"name": "walk", "x-fixture": {"progress": STEPS}},
    {"name": "babble", "x-fixture": {"result": {"content": "a string"}}},
    {"name": "hang", "x-fixture": {"silent": True}},
    {"name": "die", "x-fixture": {"exit": 3}},
    {"name": "busy"},
    {"name": "later", "x-fixture": {"rounds": 2}},
    {"name": "cut", "x-fixture": {"rounds": 2}},
    {"name": "never", "x-fixture": {"rounds": 99}},
]
ROLES: dict[str, Any] = {
    "reader": {"mcp_servers": ["store"], "tools": {"store": ["read"]}},
    "keeper": {"allow": ["store/*"]},
    "learner": {"mcp_servers": ["store"], "tools": {"store": ["read"]}},
    "candid": {"mcp_servers": ["store"], "tools": {"store": ["read"]}, "denials": "explain"},
    "idle": {"mcp_servers": ["store"], "tools": {"store": []}},
    "stranded": {"allow": ["lost/*"]},
    "waiting": {"mcp_servers": ["lost"], "tools": {"lost": ["read"]}},
}
NOTHING: Mapping[str, Any] = {}
LIMITS = [{"tool": f"store/{name}", "calls": 1, "per": "hour"} for name in ("busy", "cut")]


@dataclass(frozen=True, kw_only=True)
class Site:
    """An installation, and how its toolsets are made."""

    folder: Path
    running: Running | None

    @property
    def ran(self) -> Path:
        return self.folder / "ran.jsonl"

    @property
    def config(self) -> Path:
        return self.folder / "remit.yaml"

    def toolset(self, role: str, server: str | None = None) -> Toolset:
        if self.running is None:
            return Toolset.local(self.config, subject=f"role:{role}", server=server)
        return Toolset.remote(self.running.base, key=self.running.key(role), server=server)

    def write(self, roles: Mapping[str, Any]) -> None:
        servers = {
            "store": fixture_entry(TOOLS, self.ran),
            "lost": {"command": "no-such-program-of-remit"},
        }
        document = {"mcp_servers": servers, "roles": roles, "limits": LIMITS}
        self.config.write_text(json.dumps(document))

    def apply(self, roles: Mapping[str, Any]) -> None:
        self.write(roles)
        done = run_remit("apply", str(self.config), folder=self.folder)
        assert done.returncode == 0, done.stderr

    def audit(self, *arguments: str) -> list[dict[str, Any]]:
        done = run_remit(
            *("audit", "search", "--json", "--config", str(self.config), *arguments),
            folder=self.folder,
        )
        return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["remote", "local"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Site]:
    """Give an installation; roles are changed by nobody but the test that owns one."""
    place = Site(folder=tmp_path_factory.mktemp(str(request.param)), running=None)
    place.write(ROLES)
    if request.param == "local":
        yield place
        return
    running = start_gateway(place.folder, place.config).settle()
    yield Site(folder=place.folder, running=running)
    running.stop()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(20):
        while not await holds():  # noqa: ASYNC110 - what is waited for happens in other processes
            await anyio.sleep(0.05)


def names(tools: Any) -> list[str]:
    return [tool.name for tool in tools]


async def test_each_principal_has_its_own_tools_with_their_own_schemas(site: Site) -> None:
    async with site.toolset("reader") as reader, site.toolset("keeper") as keeper:
        (read,) = await reader.tools()
        all_tools = await keeper.tools()

    assert (read.name, read.title, read.description) == ("store__read", "Read", "Read a thing")
    assert read.input_schema == SCHEMA
    assert names(all_tools) == sorted(f"store__{tool['name']}" for tool in TOOLS)
    write = next(tool for tool in all_tools if tool.name == "store__write")
    assert write.annotations == {"destructiveHint": True}


async def test_one_server_has_its_own_names(site: Site) -> None:
    async with site.toolset("reader", "store") as reader:
        assert names(await reader.tools()) == ["read"]
        assert not (await reader.call("read", {"of": "one-server"})).is_error


async def test_an_allowed_call_reaches_the_server_and_the_record(site: Site) -> None:
    async with site.toolset("reader") as reader:
        result = await reader.call("store__read", {"of": "allowed"})

    assert not result.is_error
    assert "allowed" in result.text
    assert [one.arguments for one in executed(site.ran)].count({"of": "allowed"}) == 1
    assert "store/read" in [
        f"{row['server']}/{row['tool']}" for row in site.audit("--role", "reader")
    ]


async def test_a_denied_call_is_a_result_that_a_model_can_act_on(site: Site) -> None:
    async with site.toolset("reader") as reader:
        denied = await reader.call("store__write", {"of": "denied"})
        unknown = await reader.call("store__burn", {})

    assert denied.is_error
    assert "store__write was not called" in denied.text
    assert "does not help" in denied.text
    assert denied.meta["remit/requestId"] in denied.text
    # R14: nobody learns from the answer which of the two it was.
    shape = denied.text.replace("write", "burn").replace(
        denied.meta["remit/requestId"], unknown.meta["remit/requestId"]
    )
    assert shape == unknown.text
    assert {"of": "denied"} not in [one.arguments for one in executed(site.ran)]


async def test_a_denial_says_why_where_the_role_explains_denials(site: Site) -> None:  # R14
    async with site.toolset("candid") as candid:
        denied = await candid.call("store__write", {})

    assert denied.is_error
    assert "there is no such tool" not in denied.text
    assert "candid" in denied.text


async def test_unfit_arguments_are_a_result_that_says_what_to_correct(site: Site) -> None:
    async with site.toolset("reader") as reader:
        result = await reader.call("store__read", {"of": 7})
        never = await reader.call("store__read", {"of": float("nan")})

    assert result.is_error
    assert "Correct the arguments" in result.text
    assert result.meta["remit/code"] == "INVALID_INPUT"
    assert result.meta["remit/requestId"] in result.text
    assert never.is_error
    assert "cannot be written as JSON" in never.text


async def test_a_limit_is_a_result_that_says_when_to_come_back(site: Site) -> None:
    async with site.toolset("keeper") as keeper:
        results = [await keeper.call("store__busy", {}) for _ in range(2)]

    assert [result.is_error for result in results] == [False, True]
    assert "retry after" in results[1].text
    assert "sooner does not help" in results[1].text


async def test_a_round_without_a_question_is_gone_on_with(site: Site) -> None:
    async with site.toolset("keeper") as tools:
        later = await tools.call("store__later", {})
        never = await tools.call("store__never", {})

    assert later.text == "later {}"
    assert never.is_error
    assert "it has no answer after 10 further rounds" in never.text.replace("the tool", "it")


async def test_a_refusal_between_rounds_does_not_say_that_nothing_was_done(site: Site) -> None:
    async with site.toolset("keeper") as tools:
        cut = await tools.call("store__cut", {})

    assert cut.is_error
    assert "the call had begun when it was refused: " in cut.text
    assert "remit/code" not in cut.meta


async def test_what_a_tool_itself_says_of_its_failure_passes_as_it_is(site: Site) -> None:
    async with site.toolset("keeper") as keeper:
        failed = await keeper.call("store__fail", {})
        refused = await keeper.call("store__refuse", {})

    assert failed.is_error
    assert failed.text == "the shelf is empty"
    assert refused.is_error
    assert refused.text.startswith("store__refuse failed: There is no such shelf. Calling it again")


async def test_a_result_without_a_list_of_contents_is_no_success(site: Site) -> None:
    async with site.toolset("keeper") as keeper:
        result = await keeper.call("store__babble", {})

    assert result.is_error
    assert result.text.startswith("the server answered with nonsense")
    assert "Find out whether it took effect" in result.text


async def test_a_server_that_died_is_a_result_and_is_back_for_a_later_call(site: Site) -> None:
    async with site.toolset("keeper") as keeper:
        died = await keeper.call("store__die", {})
        again = await keeper.call("store__read", {"of": "after"})

    assert died.is_error
    assert "Find out whether it took effect" in died.text
    assert not again.is_error


async def test_a_server_that_is_away_is_a_result_that_says_so(site: Site) -> None:
    async with site.toolset("waiting") as waiting:
        away = await waiting.call("lost__read", {})

    assert away.is_error
    assert "'lost'" in away.text
    assert "later may help" in away.text


async def test_no_tools_at_all_are_told_with_the_reason(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async with site.toolset("idle") as idle, site.toolset("stranded") as stranded:
        assert await idle.tools() == ()
        assert await stranded.tools() == ()

    told = [
        record.getMessage()
        for record in caplog.records
        if "toolset is empty" in record.getMessage()
    ]
    assert len(told) == 2
    who = ("key:idle-key", "key:stranded-key") if site.running else ("role:idle", "role:stranded")
    assert [name in text for name, text in zip(who, told, strict=True)] == [True, True]
    assert "empty by policy: role idle" in told[0]
    assert "Not connected at the moment: lost" in told[1]


async def test_a_change_of_the_role_is_seen_by_the_next_list_and_call(site: Site) -> None:
    grown = {"mcp_servers": ["store"], "tools": {"store": ["write"]}}
    async with site.toolset("learner") as learner:
        assert names(await learner.tools()) == ["store__read"]
        await anyio.to_thread.run_sync(site.apply, {**ROLES, "learner": grown})

        async def is_seen() -> bool:
            return names(await learner.tools()) == ["store__write"]

        await until(is_seen)
        assert not (await learner.call("store__write", {})).is_error
        assert (await learner.call("store__read", {"of": "past"})).is_error


async def test_whoever_is_cancelled_has_cancelled_the_call(site: Site) -> None:
    before = len(received(site.ran, "notifications/cancelled"))

    async def is_under_way() -> bool:
        return "hang" in [call["params"]["name"] for call in received(site.ran, "tools/call")]

    async def is_cancelled() -> bool:
        return len(received(site.ran, "notifications/cancelled")) > before

    async with site.toolset("keeper") as keeper:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keeper.call, "store__hang", NOTHING)
            await until(is_under_way)
            tasks.cancel_scope.cancel()
        await until(is_cancelled)

        assert not (await keeper.call("store__read", {"of": "then"})).is_error


async def test_progress_is_told_on_the_callers_own_loop_before_the_result(site: Site) -> None:
    told: list[Any] = []

    def note(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message, threading.get_ident()))

    async def note_later(done: float, total: float | None, message: str) -> None:
        await anyio.lowlevel.checkpoint()
        note(done, total, message)

    here = threading.get_ident()
    async with site.toolset("keeper") as keeper:
        for progress in (note, note_later):
            told.clear()
            result = await keeper.call("store__walk", {"far": 1}, progress=progress)

            assert "far" in result.text
            assert told == [(1, 3, "found", here), (2.5, None, "", here)]


async def test_a_listener_that_fails_ends_the_call(site: Site) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("nobody listens")

    async with site.toolset("keeper") as keeper:
        with pytest.raises(RuntimeError, match="nobody listens"):
            await keeper.call("store__walk", {}, progress=fail)


def test_one_toolset_serves_several_loops_and_threads(site: Site) -> None:
    toolset = site.toolset("reader")
    found: list[Any] = []

    async def work(of: str) -> None:
        assert names(await toolset.tools()) == ["store__read"]
        found.append((await toolset.call("store__read", {"of": of})).is_error)

    threads = [
        threading.Thread(target=asyncio.run, args=[work(f"loop {number}")]) for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    asyncio.run(work("one more"))
    asyncio.run(toolset.aclose())

    assert found == [False] * 4


async def test_it_can_be_closed_twice_and_used_again(site: Site) -> None:
    toolset = site.toolset("reader")
    await toolset.aclose()
    assert names(await toolset.tools()) == ["store__read"]
    await toolset.aclose()
    await toolset.aclose()

    assert names(await toolset.tools()) == ["store__read"]
    await toolset.aclose()


async def test_nothing_shows_a_key(site: Site) -> None:
    async with site.toolset("reader") as reader:
        await reader.tools()
        shown = f"{reader!r} {reader}"

    assert shown.startswith("Toolset(")
    for key in site.running.keys.values() if site.running else ():
        assert key not in shown


async def test_an_unknown_subject_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps({"roles": {"reader": {"allow": ["store/*"]}}}))
    async with Toolset.local(config, subject="role:raeder") as nobody:
        with pytest.raises(NotFound, match="reader"):
            await nobody.tools()
        with pytest.raises(NotFound, match="reader"):
            await nobody.call("store__read", {"of": "x"})


async def test_a_key_may_be_the_subject_as_long_as_it_holds(tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    roles = {"reader": {"allow": ["store/*"]}}
    servers = {"store": fixture_entry(["read"], tmp_path / "ran.jsonl")}
    config.write_text(json.dumps({"mcp_servers": servers, "roles": roles}))
    made = run_remit("keys", "create", "ci", "--role", "reader", folder=tmp_path)
    assert made.returncode == 0, made.stderr

    async with Toolset.local(config, subject="key:ci") as tools:
        assert names(await tools.tools()) == ["store__read"]
        revoked = run_remit("keys", "revoke", "ci", folder=tmp_path)
        assert revoked.returncode == 0, revoked.stderr
        with pytest.raises(Refused, match="was revoked"):
            await tools.tools()
        with pytest.raises(Refused, match="was revoked"):
            await tools.call("store__read", {})

    assert made.stdout.strip() not in repr(tools)


async def test_a_declaration_that_is_not_there_is_told_with_its_path(tmp_path: Path) -> None:
    async with Toolset.local(tmp_path / "remit.yaml", subject="role:reader") as nowhere:
        with pytest.raises(DeclarationError, match=r"remit\.yaml"):
            await nowhere.tools()


async def test_a_gateway_that_is_not_there_is_told_with_its_address() -> None:
    with bind("127.0.0.1", 0) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    async with Toolset.remote(url, key="remit_nobody") as nowhere:
        with pytest.raises(GatewayUnreachable, match=url):
            await nowhere.tools()
        with pytest.raises(GatewayUnreachable, match=url):
            await nowhere.call("store__read", {})


@pytest.mark.parametrize("site", ["remote"], indirect=True)
async def test_a_key_that_does_not_hold_is_told_and_never_shown(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.running is not None
    wrong = "remit_of_somebody_else"
    async with Toolset.remote(site.running.base, key=wrong) as stranger:
        with pytest.raises(CredentialRefused) as refusal:
            await stranger.tools()
    assert wrong not in str(refusal.value)

    monkeypatch.delenv("REMIT_KEY", raising=False)
    async with Toolset.remote(site.running.base) as keyless:
        with pytest.raises(CredentialRefused, match="REMIT_KEY"):
            await keyless.tools()


@pytest.mark.parametrize("site", ["remote"], indirect=True)
async def test_the_key_may_come_from_the_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.running is not None
    monkeypatch.setenv("REMIT_KEY", site.running.key("reader"))

    async with Toolset.remote(site.running.base) as reader:
        assert names(await reader.tools()) == ["store__read"]


@pytest.mark.parametrize("site", ["remote"], indirect=True)
async def test_what_goes_with_each_call_is_in_its_meta(site: Site) -> None:
    assert site.running is not None
    member = "8b9cad0e-1f20-4f3e-9d3a-0f5a4b7f1c11"
    url, key = site.running.base, site.running.key("reader")
    async with Toolset.remote(url, key=key, meta={"remit/member": member}) as reader:
        await reader.call("store__read", {})

    assert [row["tool"] for row in site.audit("--text", member)] == ["read"]


@pytest.mark.parametrize("module", ["remit.bridges.toolset", "remit"])
def test_no_framework_and_nothing_of_the_gateway_is_imported_before_it_is_used(
    module: str,
) -> None:
    names = "mcp, pydantic, pydantic_ai, agents, agno, langchain_core, crewai, google, sqlalchemy"
    program = (
        f"import sys, {module}\n"
        f"print(sorted(set({names.split(', ')!r}) & set(sys.modules)))\n"
        "print([name for name in sys.modules if name.startswith('remit.app')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "[]\n[]\n"


@pytest.mark.parametrize(
    ("module", "extra"), [("pydantic_ai", "pydantic-ai"), ("openai_agents", "openai-agents")]
)
def test_a_framework_that_is_missing_is_told_with_the_extra_that_has_it(
    module: str, extra: str
) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"remit\[{extra}\]"):
        import_module(f"remit.bridges.{module}")
