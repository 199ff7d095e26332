r"""What of a body may be stored: no secrets, at most the cap, always valid JSON (R28).

Redaction concerns the record only; what passes to the caller is never altered. A secret is known
by its shape, or by the name that it stands under in JSON or in text (`"password": "..."`,
`token=...`). Text may also be raw JSON, where `\n` and `\"` are two characters.
"""

import json
import math
import re
from itertools import pairwise
from typing import Final, TypeGuard, cast

import jsonschema_rs
import msgspec

from remit.model.members import no_constant

REDACTED: Final = "[redacted]"

_NO_COUNT: Final = r"(?!s\b)"
_LONG: Final = (
    rf"pass(?:word|wd|phrase|code)|pwd|secret|token{_NO_COUNT}"
    r"|(?:api|access|account|private|signing)[ _-]?key|authorization|credential|cookie|bearer"
)
_SHORT: Final = "auth|creds|otp|pass|pin"
_SHORT_IN_CAMEL: Final = "(?-i:[a-z0-9](?:Auth|Creds|Otp|Pass|Pin))"
"""What means a secret only where it ends a name, as in `basic_auth` and `basicAuth`."""

_KEY: Final = rf"{_LONG}|(?:(?<![A-Za-z0-9])(?:{_SHORT})|{_SHORT_IN_CAMEL})(?![\w-])"
_SECRET_KEY: Final = re.compile(_KEY, re.IGNORECASE)
_TOKENS: Final = re.compile(r"tokens\Z", re.IGNORECASE)
"""What names secrets where a list of texts stands under it; elsewhere it counts those of models."""

_HEADER: Final = re.compile(
    r"(?:\w+-)?(?:authorization|cookie)|(?:\w+-)+(?:key|token)", re.IGNORECASE
)

# Not in the middle of a word; an escape of raw JSON that ends in a letter is no word.
_START: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))"

_ISSUED: Final = "gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|[rs]k_(?:live|test)_|AIza|hf_|npm_"
"""How keys of well-known issuers begin."""

# Shapes that are secrets wherever they stand: user names with passwords in URLs, bearer headers,
# keys of remit and of well-known issuers, and PEM blocks.
_SHAPES: Final = (
    r"(?:(?<=://)|(?<=\\/))[^/\s:@\"]*:(?:[^/\s\"]+|(?!\d{1,5}\\*/)[^\s\"@]{1,256})(?=@)"
    r"|(?<=https://)[\w-]{20,}(?=@)"
    rf"|{_START}(?:bearer\s+[\w.~+/=-]{{8,}}"
    r"|rmt_[A-Za-z0-9]{4,}_[\w-]{8,}"
    rf"|(?:{_ISSUED})[\w-]{{16,}}"
    r"|hooks\.slack\.com(?:\\*/\w+)+"
    r"|AKIA[0-9A-Z]{16}(?![A-Za-z0-9]))"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_SHAPE: Final = re.compile(_SHAPES, re.IGNORECASE)

# JSON web tokens. What begins as one and is none is taken in one piece, too, so that nobody looks
# anew from each of its letters on.
_VALUE: Final = (
    rf"{_START}eyJ[\w-]{{8,}}+(?:\.[\w-]*+){{2,}}|(?P<begun>{_START}eyJ[\w-]{{8,}}+)|{_SHAPES}"
)
_SECRET_VALUE: Final = re.compile(_VALUE, re.IGNORECASE)

# A user and a password, as curl has them behind `-u`; no numbers, as docker, and no address.
_OPTION: Final = r"(?:-u|--(?:proxy-)?user)"
_PAIR: Final = r"(?!\d+:)[^\s:\"'\\/+][^\s:\"']{0,128}:(?!//)[^\s\"']"
_USER: Final = (
    rf"(?<![\w-]){_OPTION}(?:[ \t=]{{1,8}}|\\*[\"']\s{{0,64}},\s{{0,64}}(?=\\*[\"']))"
    rf"(?=\\*[\"']?{_PAIR})"
)
_IS_OPTION: Final = re.compile(_OPTION, re.IGNORECASE)
_IS_PAIR: Final = re.compile(_PAIR)

# A list of texts behind `tokens`.
_LISTED: Final = r"tokens\\*[\"']?\s{0,64}[:=]>?\s{0,64}(?=\[\s{0,64}\\*[\"'])"

# One pass over the raw bytes says whether a body needs the slow walk at all. An escape may hide
# any letter, and the slashes of an address.
_SUSPICIOUS: Final = re.compile(
    rf"{_KEY}|{_VALUE}|{_USER}|{_LISTED}|\\u00|\\/".encode(), re.IGNORECASE
)

# How everything begins that is suspicious, and little else. It looks neither back nor ahead, so
# that an engine that never steps back can look for all of it at once: sixty times as fast as `re`.
_BEGINNINGS: Final = (
    rf"(?i:{_LONG.replace(_NO_COUNT, '')}|\\u00|\\/"
    rf"|(?:(?:^|[^a-z0-9])(?:{_SHORT})|{_SHORT_IN_CAMEL})(?:[^\w-]|$)"
    r"|://[^/\"]*:[^\"@ \t\r\n]*@|-u(?:ser)?[ \t\r\n=\"'\\,]+[^ \t\r\n:\"']+:"
    rf"|https://[\w-]{{20,}}@|eyj[\w-]{{8}}|rmt_|(?:{_ISSUED})[\w-]{{16}}|hooks\.slack\.com"
    r"|akia[0-9a-z]{16}|-----begin)"
)
_has_beginning: Final = jsonschema_rs.validator_for(
    {"pattern": _BEGINNINGS}, pattern_options=jsonschema_rs.RegexOptions()
).is_valid

# A secret's name in text, up to its value: as `name=`, as `--name ` of a command line, as a quoted
# member of an object, or as a quoted name before its quoted value; a user with a password; tokens.
_NAMED: Final = re.compile(
    rf"(?P<option>--?)?(?P<rest>(?=authorization|cookie))?(?:{_KEY})"
    r"(?:[\w-]{0,32}[ \t]{0,8}[:=]>?[ \t]{0,8}|[^\"'\\]{0,64}\\*[\"']\s{0,64}:\s{0,64}"
    r"|(?(option)[ \t]{1,8}(?=[^\s-])|(?!))"
    r"|[\w-]{0,32}\\*[\"']\s{0,64},\s{0,64}(?:\\*[\"']value\\*[\"']\s{0,64}:\s{0,64}"
    r"|(?(option)|(?(rest)|(?!))))(?=\\*[\"']))"
    rf"|(?P<user>{_USER})|{_LISTED}",
    re.IGNORECASE,
)
_QUOTE: Final = re.compile(r"\\*[\"']")
_WORD: Final = re.compile(r"[^\s\"'&,;}\])]*")
_ARGUMENT: Final = re.compile(r"[^\s\"']*")
_LINE: Final = re.compile(r"[^\r\n\"'\\]*")
_NESTING: Final = re.compile(r"\\*\"|[\[\]{}]")

# How a secret begins whose end was cut off, so that nothing tells its length.
_BEGUN: Final = re.compile(
    rf"(?:eyJ|rmt_|{_START}(?:{_ISSUED})|AKIA|:(?:\\*/){{2}})", re.IGNORECASE
)
_AFTER_BEARER: Final = re.compile(r"bearer\s+\Z", re.IGNORECASE)

_ESCAPE: Final = re.compile(r"\\(?:u00([2-7][0-9A-Fa-f])|.)", re.DOTALL)
_LONE: Final = re.compile("[\ud800-\udfff]")

_FRAME: Final = 64
"""Bytes of the object around a head, at most."""

_check = msgspec.json.Decoder(msgspec.Raw).decode


def recorded(body: bytes, cap: int) -> str:
    """Return *body* (raw JSON) as JSON text fit to be stored, in at most *cap* bytes of UTF-8.

    What does not fit, or is no JSON that can be read, is stored as the beginning of it:
    `{"truncated": true, "size": N, "head": "..."}`, which takes 64 bytes even where the cap is
    below that.
    """
    if len(body) > cap:
        return _head(body, cap)
    text = body.decode("utf-8", "replace")
    if _is_suspicious(body, text) or not _is_plain_json(body):
        try:
            text = _cleaned(text)
        except (ValueError, RecursionError):
            return _head(body, cap)
    return text if len(text.encode()) <= cap else _framed(text, len(body), cap)


def _is_suspicious(body: bytes, text: str) -> bool:
    return _has_beginning(text) and _SUSPICIOUS.search(body) is not None


def redacted(value: object) -> object:
    """Return a copy of a decoded JSON *value* without its secrets. Idempotent."""
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        is_named = _names_secret(members.get("name", members.get("key")))
        return {
            _without_secrets(key): REDACTED
            if _SECRET_KEY.search(key)
            or (is_named and key == "value")
            or (_TOKENS.search(key) and _lists_texts(member))
            else redacted(member)
            for key, member in members.items()
        }
    if isinstance(value, list):
        return _redacted_items(cast("list[object]", value))
    if isinstance(value, str):
        return _without_secrets(value)
    return value


def _redacted_items(items: list[object]) -> list[object]:
    """Return the items of an array, of which one may name the next.

    That is the option of a command line, as in `["--password", "..."]` and `["-u", "me:..."]`, or
    the field of a header, as in `["Authorization", "..."]`.
    """
    found = [redacted(item) for item in items]
    is_pair = len(items) == len(("name", "value"))
    for at, (name, value) in enumerate(pairwise(items), start=1):
        if not (isinstance(name, str) and isinstance(value, str)):
            continue
        if _names_secret(name):
            is_option = name.startswith("-") and not value.startswith("-")
            is_next = is_option or (is_pair and _HEADER.fullmatch(name) is not None)
        else:
            is_next = bool(_IS_OPTION.fullmatch(name) and _IS_PAIR.match(value))
        if is_next:
            found[at] = REDACTED
    return found


def _lists_texts(value: object) -> bool:
    """Whether it is a list that begins with a text."""
    return isinstance(value, list) and isinstance(next(iter(cast("list[object]", value)), 0), str)


def _names_secret(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and " " not in name and is_secret_name(name)


def is_secret_name(name: str) -> bool:
    """Say whether what stands under *name* is a secret, such as `api_key`."""
    return _SECRET_KEY.search(name) is not None


def redacted_text(text: str) -> str:
    """Return *text* without what has the shape of a secret. Idempotent."""
    return _SECRET_VALUE.sub(_without_shape, text)


def _without_shape(found: re.Match[str]) -> str:
    begun = found["begun"]
    return REDACTED if begun is None else _SHAPE.sub(REDACTED, begun)


def recorded_text(text: str, most: int) -> str:
    """Return the first *most* characters of a message, without secrets and fit to be stored."""
    start = text[:most].encode(errors="backslashreplace").decode()
    cleaner = _without_secrets(start)
    return cleaner if len(text) <= most else _without_begun(cleaner) + "…"


def _without_secrets(text: str) -> str:
    """Return *text* without secrets by shape and by name; each step shortens what is left."""
    while True:
        cleaner = _without_named(redacted_text(text))
        if cleaner == text:
            return text
        text = cleaner


def _without_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    while (name := _NAMED.search(text, at)) is not None:
        parts.append(text[at : name.end()])
        bare = _LINE if name["rest"] is not None else _ARGUMENT if name["user"] else _WORD
        shown, at = _hidden(text, name.end(), bare)
        parts.append(shown)
    return "".join(parts) + text[at:]


def _hidden(text: str, at: int, bare: re.Pattern[str]) -> tuple[str, int]:
    """Return what stands for the value at *at*, and where that value ends."""
    quote = _QUOTE.match(text, at)
    if quote is not None:
        end = _end_of_quoted(text, quote)
        closed = text.endswith(quote[0], quote.end(), end)
        return quote[0] + REDACTED + (quote[0] if closed else ""), end
    # What was redacted before reads as an array, so that it stays as it is.
    end = _end_of_nested(text, at) if text.startswith(("{", "["), at) else at
    rest = bare.match(text, end)
    end = end if rest is None else rest.end()
    return (REDACTED if end > at else ""), end


def _end_of_quoted(text: str, quote: re.Match[str]) -> int:
    """Return where the string that *quote* opens ends; one that was cut off ends the text."""
    end = text.find(quote[0], quote.end())
    while end > 0 and text[end - 1] == "\\":
        end = text.find(quote[0], end + 1)
    return len(text) if end < 0 else end + len(quote[0])


def _end_of_nested(text: str, at: int) -> int:
    """Return where the object or array at *at* ends; one that was cut off ends the text."""
    depth = 0
    while (found := _NESTING.search(text, at)) is not None:
        at = found.end()
        if found[0].endswith('"'):
            at = _end_of_quoted(text, found)
            continue
        depth += 1 if found[0] in "{[" else -1
        if depth == 0:
            return at
    return len(text)


def _head(body: bytes, cap: int) -> str:
    room = max(cap - _FRAME, 0)
    start = body[:room]
    text = start.decode("utf-8", "replace")
    if _is_suspicious(start, text):
        text = _without_secrets(_ESCAPE.sub(_unescaped, text))
    if len(body) > room:
        text = _without_begun(text)
    return _framed(text, len(body), cap)


def _unescaped(escape: re.Match[str]) -> str:
    """Return the printable ASCII character that was escaped, so that it hides nothing."""
    character = chr(int(escape[1], 16)) if escape[1] else '"'
    return escape[0] if character in "\"'\\" else character


def _without_begun(text: str) -> str:
    """Return *text*, which goes on elsewhere, without a secret that begins in its last word."""
    last = max(text.rfind(end) for end in ' \t\r\n"') + 1
    begun = _BEGUN.search(text, last)
    if _AFTER_BEARER.search(text, max(last - 16, 0), last) is not None:
        return text[:last] + REDACTED
    return text if begun is None else text[: begun.start()] + REDACTED


def _framed(text: str, size: int, cap: int) -> str:
    room = max(cap - _FRAME, 0)
    head = text[:room]
    while (length := len(msgspec.json.encode(head)) - 2) > room:
        head = head[: len(head) * room // length]
    return msgspec.json.encode({"truncated": True, "size": size, "head": head}).decode()


def _cleaned(text: str) -> str:
    """Return JSON *text* without secrets; the very same text if there are none."""
    value = _load(text)
    cleaner = redacted(value)
    # Of a name that occurs twice only the last value was loaded, so the text counts as well.
    if cleaner == value and _without_secrets(text) == text:
        return text
    return _dump(cleaner)


def _is_plain_json(body: bytes) -> bool:
    try:
        _check(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _load(text: str) -> object:
    return json.loads(text, parse_float=_finite, parse_constant=no_constant)


def _dump(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text)


def _finite(digits: str) -> float | str:
    """Return the number, or its text where Python has only infinity for it."""
    number = float(digits)
    return number if math.isfinite(number) else digits
