"""A web service with faults to throw: answers by script, or stands before a real one.

A test says what goes wrong next, for which method and path; what is not told to fail is answered
by the script, or passed on to the service behind, whose answer can then be lost on the way back.
"""

import http.client
import json
import socket
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

_LONGEST = 60.0
"""Seconds after which nothing is kept waiting, whatever a test forgot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A request that arrived.

    Attributes:
        target: Path and query, as sent.
        headers: Names in lower case.
        port: The client's end of the connection that it came by.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with a request.

    Attributes:
        way: `answer` answers with status, headers and body, nothing else being asked; `cut` breaks
            the connection before an answer; `cut-body` in the middle of it; `stall` begins an
            answer and never ends it; `lost` passes the request on and breaks the connection
            instead of bringing the answer back.
    """

    way: Literal["answer", "cut", "cut-body", "stall", "lost"] = "answer"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(slots=True)
class _Planned:
    fault: Fault
    method: str
    part: str
    times: int


Script = Callable[[Seen], Fault]


def as_json(data: object, status: int = 200, **headers: str) -> Fault:
    """Return an answer in JSON; underscores in names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = {"Content-Type": "application/json; charset=utf-8"}
    return Fault(status=status, headers={**kind, **named}, body=json.dumps(data).encode())


class FaultyWeb:
    """The service, listening on loopback.

    Attributes:
        seen: Every request, in the order of arrival.
        exchanges: Every request that was answered in full, with its answer.
        url: Where clients find it.

    Args:
        script: Answers what is not told to fail.
        behind: The service that does so instead, such as `http://127.0.0.1:4000`.
    """

    def __init__(self, script: Script | None = None, behind: str = "") -> None:
        self.seen: list[Seen] = []
        self.exchanges: list[tuple[Seen, Fault]] = []
        self._script = script
        self._behind = behind
        self._planned: list[_Planned] = []
        self._lock = threading.Lock()
        self.ended = threading.Event()
        web = self

        class Handler(_Handler):
            faulty = web

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def fail(self, fault: Fault, *, method: str = "", part: str = "", times: int = 1) -> None:
        """Let the next *times* requests of that method, with *part* in the target, go wrong."""
        with self._lock:
            self._planned.append(_Planned(fault, method, part, times))

    def forget_faults(self) -> None:
        """Let nothing go wrong that has not."""
        with self._lock:
            self._planned.clear()

    def requests(self, method: str = "", part: str = "") -> list[Seen]:
        """Return the requests of that method, with *part* in the target."""
        return [one for one in self.seen if method in ("", one.method) and part in one.target]

    def start(self) -> None:
        """Listen."""
        self._thread.start()

    def stop(self) -> None:
        """Listen no more, and keep nobody waiting."""
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_LONGEST)

    def verdict(self, seen: Seen) -> Fault:
        """Take note of a request and return what becomes of it; the service behind has run."""
        with self._lock:
            self.seen.append(seen)
            planned = next(
                (
                    one
                    for one in self._planned
                    if one.method in ("", seen.method) and one.part in seen.target
                ),
                None,
            )
            if planned is not None:
                planned.times -= 1
                if not planned.times:
                    self._planned.remove(planned)
        if planned is None:
            return self._good(seen)
        if planned.fault.way == "lost":
            self._good(seen)
        return planned.fault

    def _good(self, seen: Seen) -> Fault:
        if self._script is not None:
            return self._script(seen)
        place = urlsplit(self._behind)
        link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_LONGEST)
        try:
            headers = {**seen.headers, "host": place.netloc, "connection": "close"}
            headers.pop("accept-encoding", None)
            link.request(seen.method, seen.target, seen.body or None, headers)
            answer = link.getresponse()
            kept = {
                name: value
                for name, value in answer.getheaders()
                if name.lower() not in {"content-length", "transfer-encoding", "connection"}
            }
            return Fault(status=answer.status, headers=kept, body=answer.read())
        finally:
            link.close()


@contextmanager
def open_faulty_web(script: Script | None = None, behind: str = "") -> Generator[FaultyWeb]:
    """Give a service that is listening, and stop it afterwards."""
    web = FaultyWeb(script, behind)
    web.start()
    try:
        yield web
    finally:
        web.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that left."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    faulty: FaultyWeb
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write an answer: two would wait for each other's acknowledgement

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = Seen(
            method=self.command,
            target=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
            port=self.client_address[1],
        )
        fault = self.faulty.verdict(seen)
        if fault.way in {"cut", "lost"}:
            self._break_off()
            return
        if fault.way == "answer":
            self.faulty.exchanges.append((seen, fault))
        missing = 0 if fault.way == "answer" else 100
        self.send_response_only(fault.status)  # undated, unless a test dates it
        for name, value in fault.headers.items():
            self.send_header(name, value)
        if fault.status not in {204, 304}:
            self.send_header("Content-Length", str(len(fault.body) + missing))
        self.end_headers()
        self.wfile.write(fault.body)
        self.wfile.flush()
        if fault.way == "stall":
            self.faulty.ended.wait(_LONGEST)
        if missing:
            self._break_off()

    do_GET = _any  # noqa: N815 - the base's name
    do_POST = _any  # noqa: N815 - the base's name
    do_PUT = _any  # noqa: N815 - the base's name
    do_PATCH = _any  # noqa: N815 - the base's name
    do_DELETE = _any  # noqa: N815 - the base's name

    def _break_off(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
