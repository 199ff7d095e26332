"""The members of a JSON object as the text that stood there, for what the fast parser refuses.

`msgspec` refuses lone surrogate escapes, which JSON allows; this reader is slow and takes them.
"""

import json
import re
from collections.abc import Mapping

import msgspec

_WHITESPACE = re.compile(r"[ \t\n\r]*")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _whatever(_: str) -> int:
    return 0


def _number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # more digits than Python turns into an integer
        return float(digits)


# Only the ends of values matter, so numbers are not worked out: a number of 5,000 digits is fine.
_reader = json.JSONDecoder(parse_int=_whatever, parse_float=_whatever, parse_constant=_refuse)


def members_of(raw: bytes) -> Mapping[str, bytes]:
    """Return the members of the JSON object *raw*, each byte for byte; of a repeated key the last.

    Raises:
        ValueError: It is no JSON object.
    """
    try:
        return {key: bytes(value) for key, value in _members.decode(raw).items()}
    except (msgspec.DecodeError, RecursionError):
        return lenient_members(raw.decode())


def lenient_members(text: str) -> dict[str, bytes]:
    """Return what `members_of` does, taking every text that is JSON.

    Raises:
        ValueError: It is no JSON object, or nested too deeply.
    """
    try:
        return _read(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def value_of(raw: bytes) -> object:
    """Return the decoded value of any JSON text.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        try:
            return json.loads(raw.decode(), parse_int=_number, parse_constant=_refuse)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _read(text: str) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    at = _expect(text, 0, "{")
    if text[at : at + 1] == "}":
        return _ended(text, at, members)
    while True:
        if text[at : at + 1] != '"':
            raise ValueError("expected a key")
        key, at = _reader.raw_decode(text, at)
        start = _expect(text, at, ":")
        _, end = _reader.raw_decode(text, start)
        members[key] = text[start:end].encode()
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return _ended(text, at, members)
        at = _expect(text, at, ",")


def _ended(text: str, at: int, members: dict[str, bytes]) -> dict[str, bytes]:
    if _skip(text, at + 1) != len(text):
        raise ValueError("something follows the object")
    return members


def _expect(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"expected {sign!r}")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _WHITESPACE.match(text, at)
    return found.end() if found is not None else at
