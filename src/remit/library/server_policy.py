"""Which servers a workspace may use: the literal rule of the design document (S4.5, R12)."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeVar, cast

import structlog

log = structlog.get_logger(__name__)

ConfigT = TypeVar("ConfigT")

_DENIED: Final = "deny"


def allowed_servers(servers: Mapping[str, ConfigT], policy: object) -> dict[str, ConfigT]:
    """Return those of *servers* that *policy* opens, in their order.

    An administrator has all; a deny ends it; `default_access: deny` needs an allow; what is left
    is open. A policy that cannot be read opens nothing (S4.18).

    Args:
        servers: Name to configuration, an object or a mapping.
        policy: `{denyIds, allowIds, isAdmin}`, each of which may be left out; None is as `{}`.
    """
    if policy is not None and not isinstance(policy, Mapping):
        return _opening_nothing("is no mapping")
    rules = cast("Mapping[str, object]", policy or {})
    deny, allow = _names(rules.get("denyIds")), _names(rules.get("allowIds"))
    admin = rules.get("isAdmin", False)
    if deny is None or allow is None:
        return _opening_nothing("has denyIds or allowIds that are no list of names")
    if not isinstance(admin, bool) and admin is not None:
        return _opening_nothing("has an isAdmin that is neither true nor false")
    if admin:
        return dict(servers)
    return {
        name: config
        for name, config in servers.items()
        if name not in deny and (default_access(config) != _DENIED or name in allow)
    }


def default_access(config: object) -> str:
    """Return `allow` or `deny`; whatever else is said counts as `deny`, and nothing as `allow`."""
    if isinstance(config, Mapping):
        entry = cast("Mapping[str, object]", config)
        said = entry.get("default_access", entry.get("defaultAccess"))
    else:
        said = getattr(config, "default_access", None)
    if said is None:
        return "allow"
    word = str(getattr(said, "value", said)).strip().lower()
    return word if word == "allow" else _DENIED


def _names(stated: object) -> Collection[str] | None:
    if stated is None:
        return frozenset()
    if isinstance(stated, str | bytes | Mapping) or not isinstance(stated, Iterable):
        return None
    names = frozenset(cast("Iterable[Any]", stated))
    return cast("frozenset[str]", names) if all(isinstance(one, str) for one in names) else None


def _opening_nothing(why: str) -> dict[str, Any]:
    log.warning("the mcp_policy of the workspace cannot be read and opens no server", problem=why)
    return {}
