"""From an authorized call to a valid one: do the arguments fit the tool's input schema?"""

import json
import sys
from typing import Any, Final, Literal, Protocol, cast

import msgspec

from remit.calls.directory import CatalogueSource
from remit.calls.input_schema import MOST_ERRORS, InputSchema, compiled_schema
from remit.calls.states import States
from remit.errors import BadCall, UpstreamUnavailable
from remit.model.calls import AuthorizedCall, Examined, ValidCall
from remit.model.contents import Item, Kind
from remit.model.conversation import Extras
from remit.model.members import RepeatedMember, members_once, no_constant
from remit.model.servers import ServerConfig
from remit.model.tools import Tool, ToolId
from remit.upstreams.catalogue import Catalogue

COMPLETE = "completion/complete"

LONGEST_NAME = 80
"""Characters of the name of a prompt's argument, for the same reason."""

MOST_COMPILED = 4096
"""Compiled schemas kept in memory; beyond it the memory starts anew."""


_object_of: Final = msgspec.json.Decoder(dict[str, Any]).decode


class ServerSource(Protocol):
    """Where the settings of a server and the reason for its absence come from."""

    def server(self, name: str) -> ServerConfig | None:
        """Return the declared server, or None."""
        ...

    def why_absent(self, name: str) -> str:
        """Return one line on why the server offers nothing now."""
        ...


class _Offer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one catalogue and one entry of the declaration say of calls of a tool or an item.

    Attributes:
        schema: Of a tool; None where there is nothing to check by.
    """

    what: Tool | Item | None
    config: ServerConfig
    schema: InputSchema | None
    timeout: float
    retry: Literal["never", "safe"] | None


class Validator:
    """Checks arguments against input schemas, each compiled once."""

    def __init__(self, catalogues: CatalogueSource, servers: ServerSource, states: States) -> None:
        self._states = states
        self._catalogues = catalogues
        self._servers = servers
        self._compiled: dict[bytes, InputSchema | None] = {}
        self._offers: dict[ToolId, _Offer] = {}
        self._offered_in: Catalogue | None = None

    def __call__(self, authorized: AuthorizedCall) -> ValidCall:
        """Return the call with its tool and time limit.

        Raises:
            BadCall: The arguments do not fit; the text names the fields, never their values. Or
                the state of an earlier round is not of this call.
            UpstreamUnavailable: The tool is allowed, but its server does not offer it now.
        """
        call, tool_id = authorized.call, authorized.permit.tool_id
        offer = self._offer(call.kind, tool_id)
        if call.kind is Kind.TOOL:
            _check(offer.schema, call.arguments)
        elif call.method == COMPLETE:
            self._check_completes(tool_id.server)
        elif isinstance(offer.what, Item) and call.method == "prompts/get":
            _check_prompt(offer.what, call.arguments)
        return ValidCall(
            authorized=authorized,
            tool=offer.what,
            timeout=offer.timeout,
            retry=offer.retry,
            extras=call.extras if call.extras is None else self._opened(authorized, call.extras),
        )

    def examine(self, tool_id: ToolId, arguments: bytes) -> Examined | None:
        """Say what a call of a tool with *arguments* would be told; None where it is not on offer.

        Nothing is called, and nothing depends on who would call.
        """
        try:
            schema = self._offer(Kind.TOOL, tool_id).schema
        except UpstreamUnavailable:
            return None
        return _examined(schema, arguments)

    def _offer(self, kind: Kind, tool_id: ToolId) -> _Offer:
        """Return what is on offer now; of tools it is remembered while that is so."""
        catalogue = self._catalogues.catalogue
        if catalogue is not self._offered_in:
            self._offered_in, self._offers = catalogue, {}
        config = self._servers.server(tool_id.server)
        offer = self._offers.get(tool_id)
        if offer is not None and offer.config is config:
            return offer
        what = (catalogue.tools if kind is Kind.TOOL else catalogue.items).get(tool_id)
        is_there = what is not None or (
            kind is Kind.RESOURCE and tool_id.server in catalogue.by_server
        )
        if not is_there or config is None:
            raise UpstreamUnavailable(
                f"{tool_id} is not available now: {self._servers.why_absent(tool_id.server)}"
            )
        offer = _Offer(
            what=what,
            config=config,
            schema=self._schema(what) if isinstance(what, Tool) else None,
            timeout=config.timeout_of(tool_id.name),
            retry=config.retry_of(tool_id.name),
        )
        if kind is Kind.TOOL:  # of which a catalogue has only so many
            self._offers[tool_id] = offer
        return offer

    def _check_completes(self, server: str) -> None:
        contents = self._catalogues.catalogue.contents.get(server)
        if contents is None or not contents.completes:
            raise BadCall(f"server {server!r} completes no arguments")

    def _opened(self, authorized: AuthorizedCall, extras: Extras) -> Extras:
        if not extras.state:
            return extras
        return msgspec.structs.replace(extras, state=self._states.open(extras.state, authorized))

    def _schema(self, tool: Tool) -> InputSchema | None:
        source = tool.input_schema
        if source not in self._compiled:
            if len(self._compiled) >= MOST_COMPILED:
                self._compiled.clear()
            self._compiled[source] = compiled_schema(tool)
        return self._compiled[source]


def examine(tool: Tool, arguments: bytes) -> Examined:
    """Say what a call of *tool* with *arguments* would be told, whether it is on offer or not."""
    return _examined(compiled_schema(tool), arguments)


def _examined(schema: InputSchema | None, arguments: bytes) -> Examined:
    try:
        _check(schema, arguments)
    except BadCall as error:
        return Examined(checked=schema is not None, problem=str(error))
    return Examined(checked=schema is not None, problem="")


def _check(schema: InputSchema | None, arguments: bytes) -> None:
    decoded = _decode(arguments)
    try:
        if schema is None or schema.is_valid(decoded):
            return
        errors = schema.errors(decoded)
    except ValueError:  # the validator's own limit, which lies below the parser's
        raise BadCall("arguments are nested too deeply to be checked") from None
    raise BadCall("; ".join(errors))


def _check_prompt(prompt: Item, arguments: bytes) -> None:
    """Refuse arguments that no prompt can have, or that lack one that this prompt requires."""
    given = _decode(arguments)
    wrong = [repr(name[:LONGEST_NAME]) for name in given if not isinstance(given[name], str)]
    if wrong:
        raise BadCall(f"arguments of a prompt are texts: {', '.join(wrong[:MOST_ERRORS])}")
    missing = [repr(name[:LONGEST_NAME]) for name in prompt.required if name not in given]
    if missing:
        raise BadCall(f"required arguments are missing: {', '.join(missing[:MOST_ERRORS])}")


def _decode(arguments: bytes) -> dict[str, Any]:
    try:
        decoded = _object_of(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        leniently = _decode_leniently(arguments)
        if not isinstance(leniently, dict):
            raise BadCall("arguments must be a JSON object") from None
        return cast("dict[str, Any]", leniently)
    _refuse_repeats(arguments, decoded)
    return decoded


def _refuse_repeats(arguments: bytes, decoded: dict[str, Any]) -> None:
    """Refuse a member that stands twice: we would check the last, and a server may take the first.

    Raises:
        BadCall: There is one, at any depth.
    """
    # Every member has its colon. Where there are no more of them than members were read, none was
    # lost; else a text may hold some, and only reading again tells.
    colons = arguments.count(b":")
    if colons != len(decoded) and colons != _count_members(decoded):
        _decode_strictly(arguments)


def _count_members(value: object) -> int:
    found, rest = 0, [value]
    for one in rest:  # which grows meanwhile
        if isinstance(one, dict):
            members = cast("dict[str, object]", one)
            found += len(members)
            rest += members.values()
        elif isinstance(one, list):
            rest += cast("list[object]", one)
    return found


def _decode_strictly(arguments: bytes) -> object:
    try:
        return json.loads(
            arguments.decode(),
            object_pairs_hook=members_once,
            parse_float=_nearest,
            parse_constant=no_constant,
        )
    except RepeatedMember as repeated:
        raise BadCall(f"arguments name {repeated.name!r} twice; send it once") from None
    except (ValueError, RecursionError):
        raise BadCall("arguments are not JSON that can be read") from None


def _decode_leniently(arguments: bytes) -> object:
    """Read what the fast parser refuses but JSON allows, such as a lone surrogate escape.

    The validator takes no lone surrogate and no infinity, so a question mark is checked in place
    of the one, and in place of a number beyond Python's the largest that it has.
    """
    decoded = _decode_strictly(arguments)
    try:
        return json.loads(json.dumps(decoded, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        raise BadCall("arguments are not JSON that can be read") from None


def _nearest(digits: str) -> float:
    return min(max(float(digits), -sys.float_info.max), sys.float_info.max)
