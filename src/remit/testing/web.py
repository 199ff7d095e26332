"""A fixture server on HTTP: streamable in both eras, or the old event stream of 2024-11-05."""

import json
import queue
import socket
import sys
import threading
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from remit.testing.behaviour import MODERN, Behaviour, FixtureOptions

_ANSWER_LATER = 202
_PRIMED = b"id: first\nretry: 20\ndata: "
_REFUSED = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"%s"}}'


class WebFixture:
    """A fixture server in threads of this process, with switches for a test to throw.

    Attributes:
        status: An HTTP status that every request is answered with, or 0.
        unknown_session: The status for a session that it does not know.
        unknown_said: What it says of such a session.
        body: What is sent instead of every answer, or None.
        redirect_from: A path whose requests are sent on to the right one, or empty.
        leaves_at: A method whose next request it runs, and then listens no more; in the older era
            its answer breaks off after an event with an id. Empty for none.
        port: Where it listens, also after `stop` and `start`.
    """

    def __init__(self, options: FixtureOptions, *, transport: str = "http", port: int = 0) -> None:
        self.status = 0
        self.unknown_session = 404
        self.unknown_said = b"Session not found"
        self.body: bytes | None = None
        self.redirect_from = ""
        self.leaves_at = ""
        self.port = port
        self.transport = transport
        self.behaviour = Behaviour(options, announce=self.announce)
        self.sessions: set[str] = set()
        self.connections: set[socket.socket] = set()
        self._streams: dict[str, queue.Queue[bytes | None]] = {}
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where clients find it."""
        path = "/sse" if self.transport == "sse" else "/mcp"
        return f"http://127.0.0.1:{self.port}{path}"

    def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        fixture = self

        class Handler(_Handler):
            web = fixture

        self._server = _Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more, and break every connection."""
        self._close()
        for stream in self._streams.values():
            stream.put(None)
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def leaves(self, message: Mapping[str, Any]) -> bool:
        """Return whether it goes at this request; new connections are then refused already."""
        if message.get("method") != self.leaves_at:
            return False
        self.leaves_at = ""
        self._close()
        return True

    def _close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def wait(self) -> None:
        """Serve until the process ends."""
        threading.Event().wait()

    def forget_sessions(self) -> None:
        """Know none of the sessions any more, as after a restart; streams stay open."""
        self.sessions.clear()
        if self.transport == "sse":
            self._streams.clear()

    def announce(self, frame: bytes) -> None:
        """Send a notification to everybody who listens."""
        for stream in list(self._streams.values()):
            stream.put(frame)

    @property
    def listeners(self) -> int:
        """How many streams for notifications were opened."""
        return len(self._streams)

    def open_stream(self) -> tuple[str, queue.Queue[bytes | None]]:
        """Return a new stream with its id."""
        number, stream = uuid.uuid4().hex, queue.Queue[bytes | None]()
        self._streams[number] = stream
        return number, stream

    def stream(self, number: str) -> queue.Queue[bytes | None] | None:
        """Return the stream of that id, if there is one."""
        return self._streams.get(number)


@contextmanager
def open_web_fixture(options: FixtureOptions, *, transport: str = "http") -> Generator[WebFixture]:
    """Give a fixture server that is listening, and stop it afterwards."""
    fixture = WebFixture(options, transport=transport)
    fixture.start()
    try:
        yield fixture
    finally:
        fixture.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # callers come all at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that left."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    web: WebFixture
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Take a connection."""
        super().setup()
        self.web.connections.add(self.connection)

    def finish(self) -> None:
        """Let a connection go."""
        self.web.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        if self.web.status:
            self._respond(self.web.status)
        elif self.web.transport == "sse" and self.path == "/sse":
            number, stream = self.web.open_stream()
            self._stream(stream, first=b"event: endpoint\ndata: /messages?id=%s" % number.encode())
        elif self._session() in self.web.sessions:
            _, stream = self.web.open_stream()
            self._stream(stream)
        else:
            self._respond(405)

    def do_DELETE(self) -> None:
        self.web.sessions.discard(self._session())
        self._respond(200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.web.status:
            self._respond(self.web.status)
            return
        if self.path == self.web.redirect_from:
            self._respond(307, headers={"Location": "/mcp"})
            return
        message = cast("dict[str, Any]", json.loads(body))
        if self.web.transport == "sse":
            self._post_for_stream(message)
        elif self.headers.get("MCP-Protocol-Version") == MODERN:
            self._modern(message)
        else:
            self._legacy(message)

    def _post_for_stream(self, message: dict[str, Any]) -> None:
        if not self.path.startswith("/messages"):
            self._respond(405)
            return
        stream = self.web.stream(parse_qs(urlsplit(self.path).query).get("id", [""])[0])
        if stream is None:
            self._respond(self.web.unknown_session, _REFUSED % b"No transport found for sessionId")
            return
        self._respond(_ANSWER_LATER)
        frame = self.web.behaviour.answer(message, self._fields())
        for said in self.web.behaviour.meanwhile(message):
            stream.put(said)
        if frame is not None:
            stream.put(frame)

    def _modern(self, message: dict[str, Any]) -> None:
        if self.web.behaviour.options.era == "legacy":
            self._respond(400, _REFUSED % b"Bad Request: No valid session ID provided")
            return
        frame = self.web.behaviour.answer(message, self._fields())
        if message.get("method") == "subscriptions/listen":
            _, stream = self.web.open_stream()
            self._stream(stream, first=b"data: " + (frame or b"{}"))
            return
        headers = {"Connection": "close"} if self.web.leaves(message) else {}
        self._answer(message, frame, headers)

    def _legacy(self, message: dict[str, Any]) -> None:
        headers: dict[str, str] = {}
        if message.get("method") == "initialize" and self.web.behaviour.options.sessions:
            session = headers["Mcp-Session-Id"] = uuid.uuid4().hex
            self.web.sessions.add(session)
        elif self.web.behaviour.options.sessions and self._session() not in self.web.sessions:
            self._respond(self.web.unknown_session, _REFUSED % self.web.unknown_said)
            return
        frame = self.web.behaviour.answer(message, self._fields())
        if self.web.leaves(message):
            over = queue.Queue[bytes | None]()
            over.put(None)
            self._stream(over, first=_PRIMED)
            return
        self._answer(message, frame, headers)

    def _answer(
        self, message: Mapping[str, Any], frame: bytes | None, headers: Mapping[str, str]
    ) -> None:
        said = self.web.behaviour.meanwhile(message)
        if self.web.body is not None:
            streams = self.web.behaviour.options.streams
            kind = "text/event-stream" if streams else "application/json"
            self._respond(200, self.web.body, {"Content-Type": kind})
        elif frame is None:
            self._respond(_ANSWER_LATER)
        elif said or self.web.behaviour.options.streams:
            spoken = said or [b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}']
            events = b"".join(b"data: " + one + b"\n\n" for one in spoken)
            events += b"event: message\ndata: " + frame + b"\n\n"
            self._respond(200, events, {**headers, "Content-Type": "text/event-stream"})
        else:
            self._respond(self.web.behaviour.status(message), frame, headers)

    def _respond(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, stream: "queue.Queue[bytes | None]", first: bytes = b"") -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            if first:
                self.wfile.write(first + b"\n\n")
            while (frame := stream.get()) is not None:
                self.wfile.write(b"event: message\ndata: " + frame + b"\n\n")
        except OSError:
            return  # the client left

    def _fields(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _session(self) -> str:
        return self.headers.get("Mcp-Session-Id", "")
