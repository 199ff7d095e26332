"""An issuer of tokens: a JWK set on loopback HTTP that counts its fetches, with switches."""

import base64
import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

AUDIENCE = "https://remit.example.test/mcp"


class FakeIssuer:
    """An issuer whose keys can be exchanged, and whose server can be told to fail.

    Attributes:
        name: What its tokens say in `iss`.
        keys: Key id to key pair; those are published.
        published: What is served instead of the keys, or None.
        status: The HTTP status of every answer.
        location: Where a redirecting status sends its callers.
        fetches: How often somebody asked.
        proof: What the last who posted said in `Authorization`.
        released: Cleared, answers wait until it is set again.
    """

    def __init__(self) -> None:
        self.name = "https://idp.example.test"
        self.keys: dict[str, Key] = {"k1": RSAKey.generate_key(2048)}
        self.published: bytes | None = None
        self.status = 200
        self.location = ""
        self.fetches = 0
        self.proof = ""
        self.asked = threading.Event()
        self.released = threading.Event()
        self.released.set()
        self.port = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where its keys are."""
        return f"http://127.0.0.1:{self.port}/keys"

    def trust(self, audience: str = AUDIENCE) -> dict[str, Any]:
        """Return the entry of `identity.jwt` that trusts it."""
        return {
            "issuer": self.name,
            "audience": audience,
            "jwks_url": self.url,
            "allow_private_url": True,
        }

    def got(self, path: str, query: str) -> tuple[int, bytes, str] | None:
        """Return status, body and location for a path of its own; None where its keys are."""
        del path, query
        return None

    def posted(self, path: str, form: str) -> tuple[int, bytes]:
        """Return status and body for what was posted."""
        del path, form
        return 405, b""

    def start(self) -> None:
        """Serve the keys, on the same port as before if there was one."""
        issuer = self

        class Handler(IssuerHandler):
            serving = issuer

        self._server = _Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Serve no more."""
        self.released.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def jwks(self) -> bytes:
        """Return the published set."""
        if self.published is not None:
            return self.published
        keys = [{**key.as_dict(private=False), "kid": kid} for kid, key in self.keys.items()]
        return json.dumps({"keys": keys}).encode()

    def token(
        self, claims: Mapping[str, Any], *, header: Mapping[str, Any] | None = None, kid: str = "k1"
    ) -> str:
        """Return a signed token; a claim or a header that is `...` is left out."""
        key = self.keys[kid]
        full = {"alg": algorithm_of(key), "kid": kid, "typ": "JWT", **(header or {})}
        body = {"iss": self.name, "aud": AUDIENCE, "sub": "ann", **claims}
        return sign(_json(full), _json(body), key)


def algorithm_of(key: Key) -> str:
    """Return the algorithm that suits a key."""
    names = {RSAKey: "RS256", ECKey: "ES256", OKPKey: "EdDSA", OctKey: "HS256"}
    return names[type(key)]


def sign(header: str, claims: str, key: Key, *, algorithm: str = "") -> str:
    """Return a token with exactly these texts, whatever they say."""
    content = f"{_encoded(header.encode())}.{_encoded(claims.encode())}"
    signer = JWSRegistry.algorithms[algorithm or algorithm_of(key)]
    return f"{content}.{_encoded(signer.sign(content.encode(), key))}"


@contextmanager
def open_issuer() -> Generator[FakeIssuer]:
    """Give an issuer that serves its keys, and stop it afterwards."""
    issuer = FakeIssuer()
    issuer.start()
    try:
        yield issuer
    finally:
        issuer.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class IssuerHandler(BaseHTTPRequestHandler):
    """Serves the keys at every path."""

    serving: FakeIssuer

    def do_GET(self) -> None:
        """Give the keys, or what the issuer has at that path."""
        issuer = self.serving
        own = issuer.got(*self.path.partition("?")[::2])
        if own is not None:
            self.respond(*own)
            return
        issuer.fetches += 1
        issuer.asked.set()
        issuer.released.wait(30)
        self.respond(issuer.status, issuer.jwks(), issuer.location)

    def do_POST(self) -> None:
        """Give what the issuer has for that."""
        form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.serving.proof = self.headers.get("Authorization", "")
        status, body = self.serving.posted(self.path, form)
        self.respond(status, body)

    def respond(self, status: int, body: bytes, location: str = "") -> None:
        """Send the whole answer."""
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the caller has heard enough
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def _json(members: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in members.items() if value is not ...})


def _encoded(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()
