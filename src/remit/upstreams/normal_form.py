"""The one spelling in which a URI is asked for that no server lists: its normal form.

A rule is about the text of a URI (R15), and a server is free to take `docs/../secret`, `%73ecret`
and `secret` for the same. So of all the spellings of one URI only that of RFC 3986 §6.2.2 counts;
every other one means nothing. `file:` has one spelling a file (RFC 8089), and what browsers call
the special schemes have hosts, ports and paths that mean the same in several ways (§6.2.3).
"""

import re
from typing import Final
from urllib.parse import unquote

_URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?P<rest>.*)",
    re.DOTALL,
)

_NO_CHARACTER = re.compile(r"[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-F]{2})")
_ESCAPE = re.compile("%..")
_NEEDLESS = re.compile("%(?:2D|2E|3[0-9]|4[1-9A-F]|5[0-9A]|5F|6[1-9A-F]|7[0-9A]|7E)")
"""What stands for a letter, a digit, or one of `-._~`."""

_SEPARATOR = re.compile("%(?:2F|5C|[01][0-9A-F]|7F)")
"""What stands for a slash, a backslash or a control character."""

_BETWEEN_SEGMENTS = re.compile(r"[/\\?#]")
_ODD_PORT = re.compile(r":(?:0\d+)?$")

_PORTS: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
"""The schemes whose host is one of the network, with the port that need not be written."""

# The scheme of a template, and the authority as far as an expression; `{/…}` and its like end it.
_TEMPLATE = re.compile(r"([a-z][a-z0-9+.-]*)://[^/?#{]*\{(?![/?#&;])")


def scheme_with_free_host(template: str) -> str | None:
    """Return the scheme of *template* if what stands for the host is a value of the server's own.

    In `greeting://{name}` letter case is the server's business, in `https://{host}` it is not.
    """
    found = _TEMPLATE.match(template)
    return None if found is None or found[1] in _PORTS else found[1]


def why_not_normal(uri: str, free_hosts: frozenset[str] = frozenset()) -> str | None:
    """Say why *uri* is not its own normal form, or None where it is.

    Args:
        uri: As a caller wrote it.
        free_hosts: The schemes whose hosts are values of the server's own, in any letter case.
    """
    parts = _URI.fullmatch(uri)
    if parts is None:
        return "it begins with no scheme"
    scheme, authority, path, rest = parts.groups()
    if scheme != scheme.lower():
        return "its scheme is not in lower case"
    return (
        why_not_plain(uri)
        or _about_authority(scheme, authority, is_free=scheme in free_hosts)
        or _about_path(scheme, authority, path, rest)
    )


def why_not_plain(text: str) -> str | None:
    """Say why *text*, a URI or a part of one, has characters of no normal form, or None."""
    if _NO_CHARACTER.search(text):
        return "it holds a character that a URI has only percent-encoded"
    if _BAD_ESCAPE.search(text):
        return "it holds a % without two hexadecimal digits in upper case"
    if _NEEDLESS.search(text):
        return "it holds a letter, a digit or one of -._~ percent-encoded"
    if _SEPARATOR.search(text.partition("?")[0]):
        return "it holds a slash, a backslash or a control character percent-encoded"
    # In queries too, and before `;`: not every server knows where a path ends.
    segments = _BETWEEN_SEGMENTS.split(unquote(text.partition(":")[2] or text))
    if any(segment.partition(";")[0] in (".", "..") for segment in segments):
        return "it holds a dot segment"
    return None


def _about_authority(scheme: str, authority: str | None, *, is_free: bool) -> str | None:
    """Say what is odd about what stands between `//` and the path, or None."""
    if scheme == "file":
        return None if authority == "" else "a file: URI begins with file:///"
    if not authority:
        return f"a {scheme}: URI has a host" if scheme in _PORTS else None
    host = authority.rpartition("@")[2]
    if scheme in _PORTS and host != authority:
        return "it names a user before its host"
    if is_free:
        return None
    letters = _ESCAPE.sub("", host)
    if letters != letters.lower():
        return "its host is not in lower case"
    if _ODD_PORT.search(host) or (scheme in _PORTS and host.endswith(f":{_PORTS[scheme]}")):
        return "its port is written, or written so, for nothing"
    return None


def _about_path(scheme: str, authority: str | None, path: str, rest: str) -> str | None:
    """Say what is odd about the path, or None; *rest* is the query and the fragment."""
    if authority is not None and path.startswith("//"):
        return "its path begins with two slashes"
    if scheme == "file":
        if rest:
            return "a file: URI has no query and no fragment"
        if path != "/" and not all(path.split("/")[1:]):
            return "it holds two slashes in a row, or one at its end"
    if scheme in _PORTS and not path:
        return "it has no path: its shortest is /"
    return None
