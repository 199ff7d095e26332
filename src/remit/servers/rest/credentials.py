"""What a service knows its client by: sent in one header, shown nowhere."""

import base64
import json
from typing import Final, Self

_SHORTEST: Final = 6
"""Characters from which a secret can be told from other text, so that it can be hidden in it."""

_MASK: Final = "[secret]"


class Credential:
    """The value of the Authorization header, with the texts that must not be shown.

    Args:
        header: The whole value.
        secrets: What is hidden wherever it turns up.

    Raises:
        ValueError: If the value cannot be sent in a header; the message does not hold it.
    """

    def __init__(self, header: str, *secrets: str) -> None:
        if not (header.isascii() and header.isprintable()):
            raise ValueError("has characters that no HTTP header can hold; is it cut or pasted?")
        self._header = header
        hidden = {one for one in secrets if len(one) >= _SHORTEST}
        hidden |= {json.dumps(one)[1:-1] for one in hidden}  # as JSON has it
        self._secrets = tuple(sorted(hidden, key=len, reverse=True))

    @classmethod
    def bearer(cls, token: str) -> Self:
        """Return the credential of a token."""
        return cls(f"Bearer {token}", token)

    @classmethod
    def basic(cls, user: str, token: str) -> Self:
        """Return the credential of a user with a password or token."""
        pair = base64.b64encode(f"{user}:{token}".encode()).decode()
        return cls(f"Basic {pair}", token, pair)

    def header(self) -> str:
        """Return what is sent."""
        return self._header

    def masked(self, text: str) -> str:
        """Return *text* without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, _MASK)
        return text

    def masked_bytes(self, body: bytes) -> bytes:
        """Return *body* without the secrets."""
        for secret in self._secrets:
            body = body.replace(secret.encode(), _MASK.encode())
        return body

    def __repr__(self) -> str:
        """Show nothing of it."""
        return "Credential(…)"
