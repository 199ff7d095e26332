"""URLs of PostgreSQL as administrators give them: which do, and how they are shown."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from remit.errors import BadCall

_SCHEMES: Final = ("postgresql", "postgres")
_SECRET: Final = frozenset({"password", "sslpassword"})
_PARAMETERS: Final = _SECRET | {
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "host",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
}
"""Of libpq's; the others lead to files and settings of whoever runs the gateway."""

_LOOPBACK: Final = frozenset({"", "localhost", "127.0.0.1", "::1"})
_PORT: Final = "5432"

Address = tuple[str, str, str]
"""Host, port and database."""


def require_postgresql_url(url: str) -> None:
    """Refuse what is no URL of PostgreSQL, or has parameters that do not do.

    Raises:
        BadCall: The text repeats nothing of the URL but a parameter's name.
    """
    parts = _split(url)
    if parts is None:
        raise BadCall("is no URL of PostgreSQL: write postgresql://user:password@host:5432/name")
    for name, _ in _parameters(parts):
        if name not in _PARAMETERS:
            known = ", ".join(sorted(_PARAMETERS))
            raise BadCall(f"has the parameter {name[:40]!r}; a datasource takes {known}")
    if not address_of(url)[2]:
        raise BadCall("names no database: write postgresql://user@host:5432/name")


def is_postgresql(url: str) -> bool:
    """Whether a URL is one of PostgreSQL."""
    return _split(url) is not None


def has_secret(url: str) -> bool:
    """Whether a URL holds a password."""
    parts = _split(url)
    if parts is None:
        return False
    return bool(parts.password) or any(
        name in _SECRET and value for name, value in _parameters(parts)
    )


def without_secret(url: str) -> str:
    """Return a URL as it may be shown."""
    parts = _split(url)
    if parts is None:
        return ""
    kept = urlencode([(name, value) for name, value in _parameters(parts) if name not in _SECRET])
    place = parts.netloc.rpartition("@")
    user = place[0].partition(":")[0]
    netloc = f"{user}@{place[2]}" if user else place[2]
    return f"{parts.scheme}://{netloc}{parts.path}{'?' if kept else ''}{kept}"


def address_of(url: str) -> Address:
    """Return where a URL of PostgreSQL leads; this machine is one host, whatever it is called."""
    parts = _split(url)
    if parts is None:
        return ("", "", "")
    given = dict(_parameters(parts))
    host = (given.get("host") or parts.hostname or "").lower()
    port = given.get("port") or str(parts.port or _PORT)
    user = given.get("user") or unquote(parts.username or "")
    database = given.get("dbname") or unquote(parts.path.removeprefix("/")) or user
    return ("" if host in _LOOPBACK else host, port, database)


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL of PostgreSQL, or None for anything else."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # is a number, or raises
    except ValueError:
        return None
    scheme = parts.scheme.partition("+")[0]  # the gateway's own may name a driver
    return parts if scheme in _SCHEMES and url.isprintable() and "://" in url else None


def _parameters(parts: SplitResult) -> Sequence[tuple[str, str]]:
    return parse_qsl(parts.query, keep_blank_values=True)
