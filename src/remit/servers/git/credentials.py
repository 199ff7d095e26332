"""Keep the credentials of remote URLs out of everything the tools return."""

import re

_USERINFO = re.compile(r"(?<=://)[^\s/]*@")
_URL_WITH_USERINFO = re.compile(r"(https?|[a-z][a-z0-9+.-]*)://([^\s/]+)@", re.IGNORECASE)

SHORTEST_SECRET = 8
"""Shorter ones are words that occur by chance; `user:pass@` is stripped at any length."""


def without_credentials(text: str) -> str:
    """Strip `user:pass@` from every URL in *text*."""
    return _USERINFO.sub("", text)


def secrets_in(configuration: str) -> frozenset[str]:
    """Find the literal secrets in the URLs of a git configuration."""
    found: set[str] = set()
    for scheme, userinfo in _URL_WITH_USERINFO.findall(configuration):
        user, colon, password = userinfo.partition(":")
        # Over HTTP a lone user name is an access token; over ssh it is just a user.
        secret = password if colon else user if scheme.lower().startswith("http") else ""
        if secret:
            found.add(f"{userinfo}@")
        if len(secret) >= SHORTEST_SECRET:
            found.add(secret)
    return frozenset(found)


def without_secrets(text: str, secrets: frozenset[str]) -> str:
    """Replace each of *secrets*, the longest first, so that no part of one stays behind."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "" if secret.endswith("@") else "***")
    return text
