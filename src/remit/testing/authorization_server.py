"""An issuer that hands out its tokens by OAuth 2.1, to whoever asks: for tests of discovery.

    /.well-known/oauth-authorization-server → /register → /authorize → /token
    /.well-known/openid-configuration                   → /authorize → /token, with an ID token

It issues tokens for the resource (RFC 8707) and the scopes that it is asked for, and asks nobody
to sign in. As an OpenID provider it can be told to answer wrongly in every way.
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

from remit.testing.issuer import FakeIssuer

_METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


class FakeAuthorizationServer(FakeIssuer):
    """An authorization server on loopback, known by its address.

    Attributes:
        claims: What every token says beside issuer, audience, end, subject and scope.
        asked_for: The form of every token request so far.
        grants: The scopes that it grants, whatever is asked for; None for those.
        described: Members of its description that differ; one that is `...` is left out.
        responds: Parameters of a browser's response that differ, likewise.
        says: Claims of its ID tokens that differ, likewise.
        clock: Seconds since the epoch, as ID tokens say them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, Any] = {}
        self.asked_for: list[Mapping[str, str]] = []
        self.grants: str | None = None
        self.described: dict[str, Any] = {}
        self.responds: dict[str, Any] = {}
        self.says: dict[str, Any] = {}
        self.clock: Callable[[], float] = time.time
        self._codes: dict[str, Mapping[str, str]] = {}

    def start(self) -> None:
        """Listen, and be called by the address that this gives."""
        super().start()
        self.name = f"http://127.0.0.1:{self.port}"

    def got(self, path: str, query: str) -> tuple[int, bytes, str] | None:
        """Describe itself, or send a browser back with a code at once."""
        if path == "/authorize":
            return 302, b"", self._authorized(dict(parse_qsl(query)))
        if path not in _METADATA:
            return None
        document = {
            "issuer": self.name,
            "authorization_endpoint": f"{self.name}/authorize",
            "token_endpoint": f"{self.name}/token",
            "registration_endpoint": f"{self.name}/register",
            "jwks_uri": self.url,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return 200, json.dumps(_changed(document, self.described)).encode(), ""

    def posted(self, path: str, form: str) -> tuple[int, bytes]:
        """Register a client, or give a token."""
        if path == "/register":
            client = {**json.loads(form), "client_id": "registered"}
            return 201, json.dumps(client).encode()
        if path != "/token":
            return 404, b""
        fields = dict(parse_qsl(form))
        self.asked_for.append(fields)
        begun: Mapping[str, str] = {}
        if fields["grant_type"] == "authorization_code":
            begun = self._codes.pop(fields["code"], {})
            if not begun:
                return 400, b'{"error":"invalid_grant"}'
            digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != begun["code_challenge"]:
                return 400, b'{"error":"invalid_grant"}'
        return 200, json.dumps(self._tokens(fields, begun)).encode()

    def _authorized(self, asked: Mapping[str, str]) -> str:
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        given = {"code": code, "state": asked["state"], "iss": self.name}
        return f"{asked['redirect_uri']}?{urlencode(_changed(given, self.responds))}"

    def _tokens(self, fields: Mapping[str, str], begun: Mapping[str, str]) -> Mapping[str, Any]:
        scope = self.grants if self.grants is not None else (begun or fields).get("scope", "")
        resource = fields.get("resource", "")
        claims = {"aud": resource, "exp": time.time() + 600, "scope": scope}
        token = self.token({**claims, **self.claims})
        given = {
            "access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": scope,
        }  # fmt: skip
        return given if resource else {**given, "id_token": self._id_token(begun)}

    def _id_token(self, begun: Mapping[str, str]) -> str:
        """Return a token that says who signed in, for the client that asked."""
        now = self.clock()
        claims = {
            "aud": begun["client_id"],
            "iat": now,
            "exp": now + 300,
            "nonce": begun.get("nonce", ...),
        }
        return self.token({**claims, **self.says})


def _changed(members: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return *members* with changes; one that is `...` is left out."""
    return {name: v for name, v in {**members, **changes}.items() if v is not ...}


@contextmanager
def open_authorization_server() -> Generator[FakeAuthorizationServer]:
    """Give a server that listens, and stop it afterwards."""
    server = FakeAuthorizationServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
