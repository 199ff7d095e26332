"""What a fixture server says, whatever it says it over: plain JSON-RPC, written by hand.

No protocol library is used, so that a fixture can also say what no library would.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from remit.testing.contents import QUIRKS, Contents, FixtureContents

MODERN = "2026-07-28"
LEGACY = "2025-11-25"

_DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": [MODERN],
    "serverInfo": {"name": "fixture", "version": "1"},
    "ttlMs": 0,
    "cacheScope": "private",
}
_METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureOptions:
    """How a fixture server behaves.

    Attributes:
        tools: Names, or tool objects as `tools/list` has them. The key `x-fixture` of a tool holds
            its quirks: `result` (returned as it is), `result_json` (JSON text, returned byte for
            byte), `error` (a JSON-RPC error), `delay` (seconds), `size` (bytes of text), `exit`
            (ends the process with this code), `environment` (returns the process's environment),
            `stderr` (bytes written there, without a line feed), `silent` (never answers), `adds`
            (a tool that is there from then on), `raw` (JSON text listed instead of the tool),
            `progress` (JSON texts: the members of each notification before the answer, for
            whoever gave a token), `rounds` (how often it answers with a state and no question
            before its result), `status` (of the HTTP answer, http only).
        count_file: Every call that ran appends a line; see `executed`.
        era: Which handshakes it knows.
        page_size: Tools on a page; 0 lists all on one.
        page_fault: `repeat` gives the same cursor again and again, `endless` a new one each time
            for the same page, `empty` an empty one for the second page.
        dirty: Writes something that is no message before each one that is (stdio only).
        serial: Handles one request after the other (stdio only).
        silent: Methods that are never answered.
        lists_once: Answers only the first `tools/list`.
        touchy: Ends when the first thing it hears is not `initialize`.
        version: The revision it chooses in the older handshake.
        streams: Answers with an event stream instead of JSON (http only).
        sessions: Opens a session with the older handshake (http only).
        contents: Its prompts, resources and templates (see `Contents`). Of a tool, the quirk
            `updates` lists URIs whose subscribers are told of an update, in each `#part` of what
            they follow, and `changes` is what is offered of some kinds from then on.
    """

    tools: Sequence[str | Mapping[str, Any]]
    count_file: str
    era: str = "both"
    page_size: int = 0
    page_fault: str = ""
    dirty: bool = False
    serial: bool = False
    silent: Sequence[str] = ()
    lists_once: bool = False
    touchy: bool = False
    version: str = LEGACY
    streams: bool = False
    sessions: bool = True
    contents: Contents = field(default_factory=dict[str, Sequence[Mapping[str, Any]]])


class Behaviour:
    """Answers requests, and writes down what it was asked and what it ran.

    Args:
        announce: Sends a notification to whoever listens.

    Attributes:
        list_as: JSON text that is the result of `tools/list` whatever the tools are, or empty.
    """

    def __init__(self, options: FixtureOptions, *, announce: Callable[[bytes], None]) -> None:
        self.options = options
        self._announce = announce
        self._tools = [tool_object(tool) for tool in options.tools]
        self._first = threading.Event()
        self._has_listed = False
        self.list_as = ""
        self.contents = FixtureContents(options.contents)

    def add_tool(self, tool: str | Mapping[str, Any]) -> None:
        """Offer one more tool from now on, without a word."""
        self._tools.append(tool_object(tool))

    def answer(
        self, message: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> bytes | None:
        """Return the frame that answers *message*, or None for what gets no answer."""
        method = message.get("method")
        record(f"{self.options.count_file}.log", {**message, "headers": dict(headers or {})})
        if self.options.touchy and not self._first.is_set() and method != "initialize":
            os._exit(3)
        self._first.set()
        if method == "notifications/cancelled":
            self.contents.listening.pop(json.dumps(message["params"].get("requestId")), None)
        if "id" not in message or method is None or method in self.options.silent:
            return None
        params: dict[str, Any] = message.get("params") or {}
        number = json.dumps(message["id"])
        is_modern = "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})
        if (self.options.era == "legacy" and is_modern) or (
            self.options.era == "modern" and not is_modern
        ):
            return _error(
                number, {"code": -32600, "message": "Received request before initialization"}
            )
        return self._dispatch(number, method, params)

    def meanwhile(self, message: Mapping[str, Any]) -> list[bytes]:
        """Return what is said on the way of a call, before its answer."""
        params: Mapping[str, Any] = message.get("params") or {}
        meta: Mapping[str, Any] = params.get("_meta") or {}
        token = meta.get("progressToken")
        if message.get("method") != "tools/call" or token is None:
            return []
        start = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
        steps: Sequence[str] = self._quirks(params.get("name")).get("progress", ())
        return [f"{start}{json.dumps(token)},{step}}}}}".encode() for step in steps]

    def status(self, message: Mapping[str, Any]) -> int:
        """Return the HTTP status that the answer to *message* comes with."""
        params: Mapping[str, Any] = message.get("params") or {}
        return int(self._quirks(params.get("name")).get("status", 200))

    def _quirks(self, name: object) -> Mapping[str, Any]:
        quirks = {tool.get("name"): tool.get(QUIRKS) for tool in self._tools}
        return cast("Mapping[str, Any]", quirks.get(name) or {})

    def _dispatch(self, number: str, method: str, params: Mapping[str, Any]) -> bytes | None:
        match method:
            case "server/discover":
                discovered = _DISCOVERED | {"capabilities": self._capabilities()}
                return _result(number, json.dumps(discovered))
            case "initialize":
                return _result(number, json.dumps(self._initialized()))
            case "ping":
                return _result(number, "{}")
            case "subscriptions/listen":
                return self.contents.listen(number, params)
            case "tools/list" if self._has_listed and self.options.lists_once:
                return None
            case "tools/list":
                self._has_listed = True
                return _result(number, self._page(params.get("cursor")))
            case "tools/call":
                return self._call(number, params)
            case _:
                return self._beside_tools(number, method, params)

    def _beside_tools(self, number: str, method: str, params: Mapping[str, Any]) -> bytes:
        if not self.contents.knows(method):
            return _error(number, _METHOD_NOT_FOUND)
        ran = self.contents.ran(method, params)
        if ran is not None:
            record(self.options.count_file, {**ran, "pid": os.getpid()})
        answer = self.contents.answer(method, params)
        if "error" in answer:
            return _error(number, answer["error"])
        return _result(number, json.dumps(answer["result"], ensure_ascii=False))

    def _capabilities(self) -> Mapping[str, Any]:
        return {"tools": {"listChanged": True}, **self.contents.capabilities()}

    def _initialized(self) -> Mapping[str, Any]:
        return {
            "protocolVersion": self.options.version,
            "capabilities": self._capabilities(),
            "serverInfo": {"name": "fixture", "version": "1"},
        }

    def _page(self, cursor: str | None) -> str:
        if self.list_as:
            return self.list_as
        size = self.options.page_size or len(self._tools) or 1
        start, following = self._place(cursor, size)
        listed = ",".join(_listed(tool) for tool in self._tools[start : start + size])
        more = "" if following is None else f',"nextCursor":{json.dumps(following)}'
        return f'{{"tools":[{listed}]{more},"ttlMs":0,"cacheScope":"private"}}'

    def _place(self, cursor: str | None, size: int) -> tuple[int, str | None]:
        """Return where a page begins, and the cursor of the next one."""
        match self.options.page_fault:
            case "repeat":
                return 0, "again"
            case "endless":
                return 0, f"{cursor or ''}+"
            case "empty":
                return (0, "") if cursor is None else (size, None)
            case _:
                start = int(cursor or 0)
                return start, str(start + size) if start + size < len(self._tools) else None

    def _call(self, number: str, params: Mapping[str, Any]) -> bytes | None:
        name, arguments = params.get("name"), params.get("arguments")
        tool = next((tool for tool in self._tools if tool.get("name") == name), None)
        if tool is None:
            return _error(number, {"code": -32602, "message": f"Unknown tool: {name}"})
        record(self.options.count_file, {"name": name, "arguments": arguments, "pid": os.getpid()})
        quirks: Mapping[str, Any] = tool.get(QUIRKS, {})
        self._act(quirks)
        if "error" in quirks:
            return _error(number, quirks["error"])
        state = str(params.get("requestState"))
        taken = int(state) if state.isdecimal() else 0
        if taken < quirks.get("rounds", 0):
            asked = {"resultType": "input_required", "requestState": str(taken + 1)}
            return _result(number, json.dumps(asked))
        if quirks.get("silent"):
            return None
        if "result_json" in quirks:
            return _result(number, quirks["result_json"])
        text = f"{name} {json.dumps(arguments, ensure_ascii=False)}"
        if quirks.get("environment"):
            text = json.dumps(dict(os.environ))
        if "size" in quirks:
            text = "x" * quirks["size"]
        echo = {"content": [{"type": "text", "text": text}]}
        return _result(number, json.dumps(quirks.get("result", echo), ensure_ascii=False))

    def _act(self, quirks: Mapping[str, Any]) -> None:
        if "delay" in quirks:
            threading.Event().wait(quirks["delay"])
        if "stderr" in quirks:
            sys.stderr.write("e" * quirks["stderr"])
            sys.stderr.flush()
        if "exit" in quirks:
            sys.stderr.write("leaving in the middle of a call\n")
            sys.stderr.flush()
            os._exit(quirks["exit"])
        if "adds" in quirks:
            self.add_tool(quirks["adds"])
            self._announce(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        if "changes" in quirks:
            for member, entries in quirks["changes"].items():
                self.contents.contents[member] = list(entries)
                what = "prompts" if member == "prompts" else "resources"
                self._announce(_notification(f"{what}/list_changed"))
        for uri in quirks.get("updates", ()):
            if self.contents.is_subscribed(uri.partition("#")[0]):
                self._announce(_notification("resources/updated", {"uri": uri.replace("#", "/")}))


def _notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    told = {"jsonrpc": "2.0", "method": f"notifications/{method}"}
    return json.dumps(told if params is None else {**told, "params": params}).encode()


def tool_object(tool: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as `tools/list` has it, from its name or its own object."""
    if isinstance(tool, str):
        return {"name": tool, "description": f"The tool {tool}", "inputSchema": {"type": "object"}}
    return {"inputSchema": {"type": "object"}, **tool}


def record(path: str, entry: Mapping[str, Any]) -> None:
    """Append a line in one write, so that lines of several processes stay whole."""
    with Path(path).open("ab", buffering=0) as file:
        file.write(json.dumps(entry).encode() + b"\n")


def _listed(tool: Mapping[str, Any]) -> str:
    raw = tool.get(QUIRKS, {}).get("raw")
    offered = {key: value for key, value in tool.items() if key != QUIRKS}
    return raw if raw is not None else json.dumps(offered, ensure_ascii=False)


def _result(number: str, result: str) -> bytes:
    # A tool's quirks may hold bytes that are no UTF-8, written as Python escapes them.
    return f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'.encode(errors="surrogateescape")


def _error(number: str, error: Mapping[str, Any]) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{number},"error":{json.dumps(error)}}}'.encode()
