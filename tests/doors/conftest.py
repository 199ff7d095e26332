"""A door over a fleet in this process, served by a real server on a real socket."""

from collections.abc import AsyncGenerator

import aiohttp
import anyio
import pytest
from anyio.abc import ByteStream
from tests.doors.crew import Door, crew
from tests.doors.worlds import FILES, Wire, World, build_world, caller, serving, tool

from remit.doors.framing import FramingProtocol
from remit.model.roles import Role


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the parser was given, in order."""
    given: list[bytes] = []
    feed = FramingProtocol.data_received

    def note(self: FramingProtocol, data: bytes) -> None:
        feed(self, data)
        given.append(data)

    monkeypatch.setattr(FramingProtocol, "data_received", note)
    return given


@pytest.fixture
def files_world() -> World:
    """T1: a reader may read and list; an editor may do everything; a third explains denials."""
    return build_world(
        {"files": FILES, "notes": [tool("notes", "add")]},
        [
            Role(name="reader", tools={"files": ("read", "list")}),
            Role(name="editor", allow=("files/*", "notes/*")),
            Role(name="student", tools={"files": ("read",)}, denials="explain"),
        ],
        {
            "reader-key": caller("r", "reader"),
            "editor-key": caller("e", "editor"),
            "student-key": caller("s", "student"),
            "admin-key": caller("a", admin=True),
            "nobody-key": caller("n"),
        },
    )


@pytest.fixture(params=["the short way", "over ASGI"])
async def files_url(files_world: World, request: pytest.FixtureRequest) -> AsyncGenerator[str]:
    async with serving(files_world, over_asgi=request.param == "over ASGI") as url:
        yield url


@pytest.fixture
async def http() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def wire(http: aiohttp.ClientSession, files_url: str) -> Wire:
    """Raw requests of the reader."""
    return Wire(http, files_url)


@pytest.fixture
async def line(files_world: World) -> AsyncGenerator[ByteStream]:
    """A raw connection to a served world."""
    async with serving(files_world) as url:
        port = int(url.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            yield stream


@pytest.fixture
def crew_world() -> World:
    """A crew, beside callers that are no agents."""
    return crew()


@pytest.fixture
async def door(crew_world: World, http: aiohttp.ClientSession) -> AsyncGenerator[Door]:
    async with serving(crew_world) as url:
        yield Door(http=http, url=url)
