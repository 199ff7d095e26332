r"""JSON-RPC on raw bytes: what is relayed is never decoded and encoded again.

msgspec finds the members of a message without building their values. It refuses lone surrogate
escapes such as `\ud800`, which are valid JSON text; such a message takes a slower way that finds
the same spans, so that its bytes pass unaltered as well.
"""

import json
import re
from collections.abc import Iterator, Mapping

import msgspec

from remit.model.members import no_constant

JSON_RPC = "2.0"

_SPACE = re.compile(r"[ \t\n\r]*")
_ID = rb'"id"\s*:\s*("[ !#-\[\]-~]{0,200}"|-?\d{1,40})\s*'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"[,}]")
_ID_LAST = re.compile(_ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_NOTHING = msgspec.Raw()


class Malformed(ValueError):
    """Bytes that are not the JSON they should be."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The top level of one JSON-RPC message; a member that is absent is empty."""

    jsonrpc: str = ""
    id: msgspec.Raw = _NOTHING
    method: str = ""
    result: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING

    @property
    def answers(self) -> int | None:
        """The id of ours that this is an answer to, or None for anything else."""
        if self.method:
            return None
        return repeated_number(bytes(self.id))

    def may_answer(self, number: int) -> bool:
        """Whether it answers *number*, or is the error of a request whose id was not read."""
        if self.method:
            return False
        said = bytes(self.id)
        if said == b"%d" % number or repeated_number(said) == number:
            return True
        return said in (b"", b"null") and bool(bytes(self.error))

    @property
    def is_request(self) -> bool:
        """Whether it asks us for something and waits for an answer."""
        return bool(self.method) and bytes(self.id) not in (b"", b"null")


def repeated_number(raw: bytes) -> int | None:
    """Return the number of ours that a server repeats, or None for anything else.

    Some servers make a text of it, which the libraries of clients take as well.
    """
    digits = raw[1:-1] if raw[:1] == b'"' else raw
    return int(digits) if digits.isdigit() and len(digits) < 19 else None  # noqa: PLR2004 - 64 bits


_envelope = msgspec.json.Decoder(Envelope)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_encoder = msgspec.json.Encoder()


def parse_envelope(data: bytes) -> Envelope:
    """Return the top level of *data*.

    Raises:
        Malformed: It is not a JSON-RPC 2.0 message in UTF-8.
    """
    if not data.isascii():
        _require_utf8(data)
    try:
        envelope = _envelope.decode(data)
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from error
    except (msgspec.DecodeError, RecursionError):
        envelope = _slow_envelope(data)
    if envelope.jsonrpc != JSON_RPC:
        raise Malformed("no JSON-RPC 2.0 message")
    return envelope


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of the JSON object *data*, each value as raw JSON.

    Raises:
        Malformed: It is not a JSON object in UTF-8.
    """
    _require_utf8(data)
    try:
        return {key: bytes(value) for key, value in _object.decode(data).items()}
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from error
    except (msgspec.DecodeError, RecursionError):
        return dict(_spans_of_object(data.decode()))


def elements(data: bytes) -> list[bytes]:
    """Return the elements of the JSON array *data*, each as raw JSON.

    Raises:
        Malformed: It is not a JSON array in UTF-8.
    """
    _require_utf8(data)
    try:
        return [bytes(value) for value in _array.decode(data)]
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from error
    except (msgspec.DecodeError, RecursionError):
        return list(_spans_of_array(data.decode()))


def value_of(data: bytes) -> object:
    """Return the Python value of the JSON text *data*; integers stay exact.

    Raises:
        Malformed: It is not JSON in UTF-8.
    """
    try:
        return json.loads(data, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


def json_bytes(value: object) -> bytes:
    """Return *value* as compact UTF-8 JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which can only be written as an escape
        return json.dumps(value, separators=(",", ":")).encode()


def joined(parts: Mapping[str, bytes]) -> bytes:
    """Return the JSON object whose members are *parts*: the inverse of `members`."""
    return b"{" + b",".join(json_bytes(key) + b":" + raw for key, raw in parts.items()) + b"}"


def request_frame(number: int, method: str, params: bytes) -> bytes:
    """Return a request under our own id *number*; *params* is a JSON object."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}' % (
        number,
        method.encode(),
        params,
    )


def notification_frame(method: str, params: bytes = b"{}") -> bytes:
    """Return a notification; *params* is a JSON object."""
    return b'{"jsonrpc":"2.0","method":"%s","params":%s}' % (method.encode(), params)


def reply_frame(message: Envelope) -> bytes:
    """Return our answer to a request of the server: we know `ping`, and offer nothing else."""
    number = bytes(message.id)
    if message.method == "ping":
        return b'{"jsonrpc":"2.0","id":%s,"result":{}}' % number
    return (
        b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}' % number
    )


def salvaged_id(head: bytes, tail: bytes) -> int | None:
    """Return the id of ours that an answer has which cannot be read whole, or None."""
    return repeated_number(salvaged_raw_id(head, tail))


def salvaged_raw_id(head: bytes, tail: bytes) -> bytes:
    """Return the id of a message that cannot be read whole, from its two ends; empty for none.

    Only an id that stands first or last at the top level counts, where all known programs put it.
    """
    found = _ID_FIRST.match(head) or _ID_LAST.search(tail)
    return found[1] if found else b""


def _require_utf8(data: bytes) -> None:
    # msgspec does not look into what it skips.
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise Malformed("not UTF-8") from error


_decoder = json.JSONDecoder(parse_constant=no_constant, parse_int=str, parse_float=str)


def _slow_envelope(data: bytes) -> Envelope:
    found = dict(_spans_of_object(data.decode()))
    version, method = (value_of(found.get(key, b'""')) for key in ("jsonrpc", "method"))
    if not isinstance(version, str) or not isinstance(method, str):
        raise Malformed("no JSON-RPC 2.0 message")
    raw = {key: msgspec.Raw(found[key]) for key in ("id", "result", "error") if key in found}
    return Envelope(jsonrpc=version, method=method, **raw)


def _spans_of_object(text: str) -> Iterator[tuple[str, bytes]]:
    at = _expect(text, 0, "{")
    if text.startswith("}", at):
        _expect_end(text, at + 1)
        return
    while True:
        if not text.startswith('"', at):
            raise Malformed("a name was expected")
        key, at = _value_at(text, at)
        at = _expect(text, at, ":")
        _, end = _value_at(text, at)
        yield str(key), text[at:end].encode()
        at = _skip(text, end)
        if text.startswith("}", at):
            _expect_end(text, at + 1)
            return
        at = _expect(text, at, ",")


def _spans_of_array(text: str) -> Iterator[bytes]:
    at = _expect(text, 0, "[")
    if text.startswith("]", at):
        _expect_end(text, at + 1)
        return
    while True:
        _, end = _value_at(text, at)
        yield text[at:end].encode()
        at = _skip(text, end)
        if text.startswith("]", at):
            _expect_end(text, at + 1)
            return
        at = _expect(text, at, ",")


def _value_at(text: str, at: int) -> tuple[object, int]:
    try:
        return _decoder.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _expect(text: str, at: int, character: str) -> int:
    """Return where the text goes on after *character*, which must come next."""
    at = _skip(text, at)
    if not text.startswith(character, at):
        raise Malformed(f"{character!r} was expected")
    return _skip(text, at + 1)


def _expect_end(text: str, at: int) -> None:
    if _skip(text, at) != len(text):
        raise Malformed("more than one value")
