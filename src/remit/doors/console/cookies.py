"""The cookies of the console: what they are called, and how far they go.

Over `https` a cookie has the prefix `__Host-`, so that no other host of the domain can set it.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

PREFIX: Final = "/console"
"""Where the console begins."""

_VALUE: Final = re.compile(r"[A-Za-z0-9_-]{1,4000}")


class Cookie:
    """One cookie: out of reach of scripts, and of what other sites post here.

    Args:
        name: Without prefix.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, cookies: Mapping[str, str], base: str) -> str:
        """Return what a browser sent; empty where that is nothing of ours.

        Args:
            cookies: All that it sent.
            base: The root of our URLs as the browser knows it.
        """
        value = cookies.get(self._name_at(base), "")
        return value if _VALUE.fullmatch(value) else ""

    def set_to(self, value: str, base: str, *, seconds: int | None = None) -> str:
        """Return the `Set-Cookie` that keeps *value*.

        Args:
            value: URL-safe.
            base: The root of our URLs as the browser knows it.
            seconds: How long; until the browser is closed if not said.
        """
        parts = [f"{self._name_at(base)}={value}", f"Path={self._path_at(base)}"]
        if seconds is not None:
            parts.append(f"Max-Age={seconds}")
        if _is_secure(base):
            parts.append("Secure")
        return "; ".join([*parts, "HttpOnly", "SameSite=Lax"])

    def read_text(self, cookies: Mapping[str, str], base: str) -> str:
        """Return the text of any letters that `set_to_text` kept; empty for none."""
        value = self.read(cookies, base)
        try:
            return urlsafe_b64decode(value + "=" * (-len(value) % 4)).decode()
        except ValueError:
            return ""

    def set_to_text(self, text: str, base: str, *, seconds: int | None = None) -> str:
        """Return the `Set-Cookie` that keeps *text*, of any letters."""
        kept = urlsafe_b64encode(text.encode(errors="replace")).rstrip(b"=").decode()
        return self.set_to(kept, base, seconds=seconds)

    def gone(self, base: str) -> str:
        """Return the `Set-Cookie` that lets the browser forget it."""
        return self.set_to("", base, seconds=0)

    def _name_at(self, base: str) -> str:
        return f"__Host-{self._name}" if _is_secure(base) else self._name

    def _path_at(self, base: str) -> str:
        # the prefix demands the whole host
        return "/" if _is_secure(base) else urlsplit(base).path + PREFIX


SESSION: Final = Cookie("remit_session")
"""Holds the secret of a session."""

FORM: Final = Cookie("remit_sign_in")
"""Binds the form of the sign-in to the browser that asked for it."""


def _is_secure(base: str) -> bool:
    return base.startswith("https://")
