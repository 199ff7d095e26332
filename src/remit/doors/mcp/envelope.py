"""One JSON-RPC message, read once; what is forwarded is cut from the very bytes decided on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from remit.model.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NAME_BEARING_METHODS,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
)
from remit.upstreams.wire import Malformed, json_bytes, members, value_of

NULL: Final = b"null"
"""The id of an answer to a message whose own id cannot be read."""

_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_ENVELOPE_KEY: Final = PROTOCOL_VERSION_META_KEY.encode()
_MODERN_ONLY: Final = frozenset({"server/discover", "subscriptions/listen"})
_NO_PARAMS: Final[Mapping[str, bytes]] = {}


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A request, a notification, or an answer that nobody asked for.

    Attributes:
        id: Raw JSON as it came, echoed byte for byte; empty for a notification.
        params: Each member raw as it came; of a repeated key only the last is there, and nothing
            else is ever forwarded.
        meta: Raw JSON of the parameter `_meta`; empty when it is absent or null.
        named: Raw JSON of what is asked about: the name or URI that `Mcp-Name` repeats, or empty.
        is_response: Whether it answers a request of ours.
        tail: Of an answer, its raw member `"result":…` or `"error":…`.
    """

    id: bytes
    method: str
    params: Mapping[str, bytes | msgspec.Raw]
    meta: bytes = b""
    named: bytes = b""
    is_response: bool = False
    tail: bytes = b""

    def __repr__(self) -> str:
        """Name the message without its parameters."""
        return f"Message(id={self.id!r}, method={self.method!r})"

    def param(self, name: str) -> bytes | None:
        """Return the raw JSON of a parameter; None when it is absent or null."""
        raw = self.params.get(name)
        if raw is None:
            return None
        value = bytes(raw)
        return None if value == NULL else value

    @property
    def is_modern(self) -> bool:
        """Whether it carries the envelope of 2026-07-28, or a method that only that era has."""
        return self.method in _MODERN_ONLY or _ENVELOPE_KEY in self.meta


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A JSON-RPC error to answer with.

    Attributes:
        data: Raw JSON, or empty for none.
        id: Raw id of the message at fault, or `null` when it has none that can be read.
    """

    code: int
    message: str
    data: bytes = b""
    id: bytes = NULL

    @property
    def error(self) -> bytes:
        """The `error` object as raw JSON."""
        text = json_bytes(self.message)
        data = b',"data":' + self.data if self.data else b""
        return b'{"code":%d,"message":%b%b}' % (self.code, text, data)


class _Wire(msgspec.Struct):
    jsonrpc: str = ""
    id: msgspec.Raw = msgspec.Raw()
    method: str | None = None
    params: dict[str, msgspec.Raw] | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


_decoder = msgspec.json.Decoder(_Wire)


def decoded(raw: bytes | None) -> object:
    """Return the value of a parameter; None when it is absent, or beyond what Python can hold."""
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        try:
            return value_of(raw)
        except Malformed:
            return None


def read_message(body: bytes) -> Message | Fault:
    """Return the message in *body*, or the fault to answer it with."""
    if not body.isascii():
        # The fast parser skips over raw values without looking at their encoding.
        try:
            body.decode()
        except UnicodeDecodeError:
            return Fault(code=PARSE_ERROR, message="Parse error: the message is not UTF-8")
    try:
        wire = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _read_leniently(body)
    raw_id, method = bytes(wire.id), wire.method
    if method is None:
        return _checked(wire.jsonrpc, raw_id, _answered(raw_id, wire.result, wire.error))
    return _checked(wire.jsonrpc, raw_id, asked(raw_id, method, wire.params or _NO_PARAMS))


def _checked(jsonrpc: object, raw_id: bytes, message: Message | Fault) -> Message | Fault:
    if raw_id and raw_id[:1] != b'"' and not _INTEGER.fullmatch(raw_id):
        return _invalid("id must be a string or an integer", NULL)
    return message if jsonrpc == "2.0" else _invalid('jsonrpc must be "2.0"', raw_id)


def asked(raw_id: bytes, method: str, params: Mapping[str, bytes | msgspec.Raw]) -> Message:
    """Return what asks *method*; without an id it is a notification."""
    meta = bytes(params.get("_meta", b""))
    return Message(
        id=raw_id,
        method=method,
        params=params,
        meta=b"" if meta == NULL else meta,
        named=bytes(params.get(NAME_BEARING_METHODS.get(method, ""), b"")),
    )


def _answered(
    raw_id: bytes, result: bytes | msgspec.Raw, error: bytes | msgspec.Raw
) -> Message | Fault:
    tail = _tail_of(bytes(result), bytes(error))
    if tail:
        return Message(id=raw_id, method="", params=_NO_PARAMS, is_response=True, tail=tail)
    return _invalid("method must be a string", raw_id)


def _tail_of(result: bytes, error: bytes) -> bytes:
    if error and error != NULL:
        return b'"error":' + error
    return b'"result":' + result if result else error and b'"error":' + error


def _read_leniently(body: bytes) -> Message | Fault:
    """Read what the fast parser refuses: odd but right JSON, and to say what is wrong."""
    try:
        found = members(body)
    except Malformed:
        return _not_an_object(body)
    raw_id = found.get("id", b"")
    raw_params = found.get("params", NULL)
    params = _NO_PARAMS
    if raw_params != NULL:
        try:
            params = members(raw_params)
        except Malformed:
            return Fault(
                code=INVALID_PARAMS, message="params must be an object", id=_readable(raw_id)
            )
    method = decoded(found.get("method"))
    if isinstance(method, str):
        message: Message | Fault = asked(raw_id, method, params)
    else:
        message = _answered(raw_id, found.get("result", b""), found.get("error", b""))
    return _checked(decoded(found.get("jsonrpc")), raw_id, message)


def _not_an_object(body: bytes) -> Fault:
    try:
        value = value_of(body)
    except Malformed:
        return Fault(code=PARSE_ERROR, message="Parse error: the message is not JSON")
    if isinstance(value, list):
        return _invalid("batches are not supported; send each message alone", NULL)
    return _invalid("a message is a JSON object", NULL)


def _readable(raw_id: bytes) -> bytes:
    return raw_id if raw_id[:1] == b'"' or _INTEGER.fullmatch(raw_id) else NULL


def _invalid(why: str, raw_id: bytes) -> Fault:
    return Fault(code=INVALID_REQUEST, message=f"Invalid request: {why}", id=raw_id or NULL)
