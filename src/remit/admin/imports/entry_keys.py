"""Every key that a server's entry has in the files people have: what it means, or why it is left.

Keys are compared without letter case, `_` and `-`.
"""

from typing import Final


def fold(key: str) -> str:
    """Return *key* as it is compared: lower case, letters and digits alone."""
    return "".join(letter for letter in key.lower() if letter.isalnum())


_KEYS: Final[dict[str, str]] = {
    "command": "command cmd path",
    "args": "args arguments",
    "env": "env environment envs",
    "env_passthrough": "env_passthrough env_vars env_keys",
    "cwd": "cwd working_directory workdir",
    "url": "url server_url endpoint uri host",
    "http_url": "http_url",
    "sse_url": "sse_url sse_endpoint",
    "headers": "headers http_headers static_headers",
    "headers_env": "headers_from_env env_http_headers",
    "bearer_env": "bearer_token_env_var",
    "bearer": "bearer_token api_token access_token",
    "auth_type": "auth_type",
    "auth_value": "auth_value authentication_token",
    "transport": "transport type transport_type",
    "enabled": "enabled is_active active",
    "disabled": "disabled",
    "timeout": "timeout timeout_ms timeout_sec timeout_seconds request_timeout",
    "tool_timeout": "tool_timeout tool_timeout_sec tool_timeout_ms call_timeout",
    "start": "start_timeout startup_timeout_sec startup_timeout_ms init_timeout connection_timeout",
    "description": "description",
    "only": "include_tools included_tools enabled_tools allowed_tools available_tools tools",
    "hidden": "exclude_tools excluded_tools disabled_tools disallowed_tools",
}

SLOTS: Final[dict[str, str]] = {
    fold(key): slot for slot, keys in _KEYS.items() for key in keys.split()
}
"""Folded key to the meaning that all its spellings share."""

IGNORED: Final = frozenset(
    {"name", "title", "displayname", "id", "uuid", "slug", "version", "icon", "gallery", "source"}
)
"""Says nothing of how a server is reached or who may use it; nobody misses it."""

_ASKING = (
    "remit asks nobody before a call: roles decide",
    "grant the tool to the roles that may use it",
)
_FORWARDING = (
    "remit passes no header of a caller on to a server",
    "give the server a credential of its own under `headers`",
)

WHY_LEFT: Final[dict[str, tuple[str, str]]] = {
    fold(key): why
    for keys, why in (
        ("auto_approve always_allow trust approval_mode confirm trusted", _ASKING),
        (
            "client_header_forwarding passthrough_headers extra_headers forward_headers",
            _FORWARDING,
        ),
        (
            "env_file",
            (
                "remit reads no file of variables",
                "set them in the environment of remit, and name them in `env_passthrough`",
            ),
        ),
        (
            "dev watch debug",
            ("is for whoever develops the server", ""),
        ),
        (
            "access_groups groups tags team",
            (
                "says who may use it, which is a matter of roles here",
                "name the server in the roles that are meant",
            ),
        ),
        (
            "health_check",
            ("remit watches over servers by itself", ""),
        ),
        (
            "capabilities",
            ("remit asks the server what it can", ""),
        ),
        (
            "oauth auth oauth2 authorization_url token_url scopes client_id client_secret",
            (
                "remit signs in to servers with headers and tokens alone",
                "give a token in `bearer_token_env_var`",
            ),
        ),
        (
            "is_unlocked roots sampling",
            ("remit has no such setting", ""),
        ),
    )
    for key in keys.split()
}
"""Folded key to why it is left, and what to do instead."""
