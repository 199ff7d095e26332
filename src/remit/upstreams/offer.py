"""From a server's own list of tools to the tools that remit offers of it.

An entry may say `tool_names: {ours: theirs}` and `tool_args: {our tool: {our argument: theirs}}`
(R30); everything else passes as it is, but for what no client can read (`entries.py`). What cannot
be offered is left out alone, with a note.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.errors import UpstreamError, UpstreamUnavailable
from remit.model.contents import Contents, Kind, kind_of, own_name
from remit.model.members import members_of
from remit.model.param_headers import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from remit.model.servers import ServerConfig
from remit.model.tools import Hints, Tool, ToolId
from remit.upstreams.contents import in_own_words
from remit.upstreams.entries import TOOL, fitted
from remit.upstreams.session import NO_HEADERS, ToolCall
from remit.upstreams.wire import Malformed, joined, json_bytes, members, value_of

_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How a call of one tool travels.

    Attributes:
        theirs: The server's name of the tool, byte for byte.
        arguments: Our argument name to the server's, where they differ.
        headers: Path of an argument to the `Mcp-Param-*` header that repeats it.
    """

    theirs: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])

    def call(self, arguments: bytes, meta: bytes) -> ToolCall:
        """Return the call in the server's own words.

        Raises:
            UpstreamError: It has none; nothing was sent.
        """
        headers: Mapping[str, str] = NO_HEADERS
        try:
            if self.arguments:
                arguments = joined(_renamed(members(arguments), self.arguments))
            if self.headers:
                headers = mcp_param_headers(
                    self.headers, cast("dict[str, object]", value_of(arguments))
                )
        except Malformed as error:
            raise UpstreamError(f"cannot be asked: {error}") from error
        return ToolCall(name=self.theirs, arguments=arguments, meta=meta, headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one server offers, and how to call its tools.

    Attributes:
        notes: What was left out or looked odd, one line each.
    """

    tools: tuple[Tool, ...] = ()
    routes: Mapping[str, Route] = field(default_factory=dict[str, Route])
    notes: tuple[str, ...] = ()
    contents: Contents = field(default_factory=Contents)

    def call(self, item: ToolId, method: str, arguments: bytes, meta: bytes) -> ToolCall:
        """Return what asks *method* about a tool or anything else, in the server's own words.

        Raises:
            UpstreamError: There is no such call; nothing was sent.
        """
        route = self.routes.get(item.name)
        if route is not None:
            return route.call(arguments, meta)
        kind = kind_of(item.name)
        if kind is Kind.TOOL:
            raise UpstreamUnavailable(f"offers no tool {item.name!r} now")
        own = own_name(item)
        if method == "completion/complete":
            arguments = in_own_words(arguments, kind, own)
        return ToolCall(name=own, method=method, arguments=arguments, meta=meta)


def build_offer(
    config: ServerConfig,
    listed: Sequence[bytes],
    *,
    notes: Sequence[str] = (),
    has_headers: bool = False,
) -> Offer:
    """Return what remit offers of the tools that a server *listed* (raw JSON each).

    Args:
        config: The server's entry.
        listed: In the server's order.
        notes: What looked odd about the list.
        has_headers: Whether calls travel with headers, so that a tool whose `x-mcp-header` is
            wrong has to be left out (protocol.md 1.2).
    """
    tools: dict[str, Tool] = {}
    routes: dict[str, Route] = {}
    noted = list(notes)
    seen: set[str] = set()
    for position, raw in enumerate(listed, start=1):
        try:
            theirs = _Theirs.read(raw, seen, has_headers=has_headers)
        except Malformed as error:
            noted.append(f"left out entry {position} of its list: {error}")
            continue
        seen.add(theirs.name)
        if theirs.wrong:
            noted.append(f"tool {theirs.name!r}: left out what is wrong in it: {theirs.wrong}")
        for name in config.names_of(theirs.name):
            if kind_of(name) is not Kind.TOOL:
                noted.append(f"left out tool {name!r}: its name reads as that of a {kind_of(name)}")
                continue
            renames = config.tool_args.get(name, {})
            tools[name] = theirs.offered_as(ToolId(config.name, name), renames)
            routes[name] = theirs.route(renames)
            noted.extend(theirs.unknown_arguments(name, renames))
    noted.extend(_unused(config, seen, tools))
    return Offer(tools=tuple(tools.values()), routes=routes, notes=tuple(noted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Theirs:
    """One tool as the server lists it.

    Attributes:
        wrong: Members that were left out, since no client can read them.
    """

    name: str
    raw: bytes
    wrong: str
    parts: Mapping[str, bytes]
    schema: Mapping[str, object]
    headers: Mapping[tuple[str, ...], str]

    @classmethod
    def read(cls, raw: bytes, seen: Collection[str], *, has_headers: bool) -> "_Theirs":
        try:
            parts = members(raw)
        except Malformed as error:
            raise Malformed("it is no object") from error
        name = value_of(parts.get("name", b"null"))
        if not isinstance(name, str) or not name:
            raise Malformed("it has no name")
        if not _is_encodable(name):
            raise Malformed(f"its name {name!r} is no text")
        if name in seen:
            raise Malformed(f"tool {name!r} is listed more than once")
        kept, wrong = fitted(parts, TOOL)
        if "inputSchema" not in kept:
            raise Malformed(f"tool {name!r}: its inputSchema is not an object")
        if kept != parts:
            raw, parts = joined(kept), kept
        schema = cast("dict[str, object]", value_of(parts["inputSchema"]))
        problem = find_invalid_x_mcp_header(schema) if has_headers else None
        if problem is not None:
            raise Malformed(f"tool {name!r}: {problem}")
        headers = x_mcp_header_map(schema) if has_headers else {}
        return cls(name=name, raw=raw, wrong=wrong, parts=parts, schema=schema, headers=headers)

    def offered_as(self, tool: ToolId, renames: Mapping[str, str]) -> Tool:
        """Return the tool under our names; without such its JSON is unaltered."""
        schema = self.parts["inputSchema"]
        parts = dict(self.parts)
        if renames:
            schema = parts["inputSchema"] = self._schema_in_our_words(renames)
        if tool.name != self.name:
            parts["name"] = json_bytes(tool.name)
        description = value_of(self.parts.get("description", b"null"))
        return Tool(
            id=tool,
            wire=self.raw if parts == self.parts else joined(parts),
            input_schema=schema,
            description=_printable(description) if isinstance(description, str) else "",
            hints=_hints(value_of(self.parts.get("annotations", b"null"))),
        )

    def route(self, renames: Mapping[str, str]) -> Route:
        return Route(theirs=self.name, arguments=renames, headers=self.headers)

    def unknown_arguments(self, name: str, renames: Mapping[str, str]) -> list[str]:
        known = members_of(self.schema.get("properties"))
        return [
            f"tool_args of {name!r}: the server's tool takes no {theirs!r}"
            for theirs in renames.values()
            if theirs not in known
        ]

    def _schema_in_our_words(self, renames: Mapping[str, str]) -> bytes:
        ours = {theirs: our_name for our_name, theirs in renames.items()}
        parts = members(self.parts["inputSchema"])
        if "properties" in parts:
            properties = members(parts["properties"])
            parts["properties"] = joined({ours.get(k, k): raw for k, raw in properties.items()})
        if "required" in parts:
            names = cast("list[str]", self.schema["required"])
            parts["required"] = json_bytes([ours.get(name, name) for name in names])
        return joined(parts)


def _unused(config: ServerConfig, theirs: Collection[str], ours: Collection[str]) -> Iterator[str]:
    for our_name, their_name in config.tool_names.items():
        if their_name not in theirs:
            yield f"tool_names: the server offers no {their_name!r}, so {our_name!r} is missing"
        if (
            our_name in theirs
            and our_name != their_name
            and our_name not in config.tool_names.values()
        ):
            yield f"tool_names: the server's own {our_name!r} is hidden behind {their_name!r}"
    for our_name in config.tool_args:
        if our_name not in ours:
            yield f"tool_args: there is no tool {our_name!r}"


def _renamed(arguments: Mapping[str, bytes], names: Mapping[str, str]) -> dict[str, bytes]:
    renamed: dict[str, bytes] = {}
    for key, raw in arguments.items():
        theirs = names.get(key, key)
        if theirs in renamed:
            raise Malformed(f"the argument {key!r} is given twice, under two names")
        renamed[theirs] = raw
    return renamed


def _hints(annotations: object) -> Hints:
    if not isinstance(annotations, dict):
        return Hints()
    claims = cast("dict[str, object]", annotations)
    values = {ours: claims.get(theirs) for ours, theirs in _HINTS.items()}
    return Hints(**{ours: value for ours, value in values.items() if isinstance(value, bool)})


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _printable(text: str) -> str:
    return text.encode(errors="replace").decode()
