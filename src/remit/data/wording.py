"""What the record of calls says of the `data` server's: no literals, and no data (S2.46, S2.47)."""

import json
from typing import Final

import msgspec

from remit.data.kept import kept_sql_anywhere
from remit.model.data import DataCode
from remit.model.members import members_of
from remit.servers.toolbox import ERROR

MOST_RESULT: Final = 200
"""Characters of a result that are written."""

_FRAME: Final = 64
"""Bytes of the object that the record puts around a beginning."""

_SQL: Final = "sql"
"""The argument that holds a statement, whichever tool takes it."""

_CODES: Final = frozenset(code.value for code in DataCode)
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Error(msgspec.Struct):
    code: str = ""


class _Meta(msgspec.Struct):
    error: _Error = msgspec.field(name=ERROR, default_factory=_Error)


class _Failed(msgspec.Struct):
    meta: _Meta = msgspec.field(name="_meta", default_factory=_Meta)


class DataWording:
    """How calls of a `data` server are recorded; `calls/record.py: Wording` says more."""

    most = MOST_RESULT + _FRAME

    def arguments(self, body: bytes) -> bytes:
        """Return arguments with the string literals of their statement blanked."""
        if b'"sql"' not in body and b"\\u" not in body:
            return body
        try:
            given: object = json.loads(body)
        except (ValueError, RecursionError):  # which no tool takes either
            return b"{}"
        arguments = members_of(given)
        sql = arguments.get(_SQL)
        if not isinstance(sql, str):
            return body
        shown = arguments | {_SQL: kept_sql_anywhere(sql)}
        return json.dumps(shown, separators=(",", ":")).encode()

    def result(self, body: bytes) -> bytes:
        """Return the structured part of a result, or what a failure says."""
        try:
            parts = _members.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return body
        return bytes(parts.get("structuredContent") or parts.get("content") or body)

    def code(self, body: bytes) -> str:
        """Return the code of a failure, if it is one of the data server's."""
        try:
            code = msgspec.json.decode(body, type=_Failed).meta.error.code
        except (msgspec.DecodeError, RecursionError):
            return ""
        return code if code in _CODES else ""
