"""URLs with passwords, encrypted at rest: AES-256-GCM under a key from `REMIT_MASTER_KEY` (S2.25).

    seal.1:<base64 of nonce and ciphertext>    bound to tenant, datasource and use

A row that is copied to another tenant or datasource cannot be opened there.
"""

import base64
import binascii
import hashlib
import hmac
import os
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from remit.errors import BadCall, DataFailure
from remit.model.data import DataCode, Datasource

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Use = Literal["reader", "writer"]

MASTER_KEY: Final = "REMIT_MASTER_KEY"

_PREFIX: Final = "seal.1:"
_PURPOSE: Final = b"remit: URLs of datasources"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class UrlSeal:
    """Seals URLs and opens them.

    Args:
        master: `REMIT_MASTER_KEY`: base64 of 32 bytes, or a passphrase; empty for none.
    """

    def __init__(self, master: str) -> None:
        self._master = master

    def seal(self, url: str, *, tenant: str, datasource: str, use: Use) -> str:
        """Return *url* sealed, for the datasource of that id alone.

        Raises:
            BadCall: There is no master key.
        """
        if not self._master:
            raise BadCall(
                f"a URL with a password is kept encrypted: set {MASTER_KEY}, such as to the output"
                " of `openssl rand -base64 32`, for this command and for every gateway"
            )
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, url.encode(), _bound_to(tenant, datasource, use))
        return _PREFIX + base64.b64encode(nonce + sealed).decode()

    def url_of(self, datasource: Datasource, use: Use) -> str:
        """Return the whole URL that *datasource* is read or written with; empty for none.

        Raises:
            DataFailure: `service_unavailable`: it cannot be opened.
        """
        kept = datasource.reader if use == "reader" else datasource.writer
        if not kept.startswith(_PREFIX):
            return kept
        if not self._master:
            raise _cannot(datasource, f"{MASTER_KEY} is not set, and its password is encrypted")
        # Deferred: 10 MB, for datasources with a password alone.
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see above

        bound = _bound_to(datasource.tenant, datasource.id, use)
        try:
            raw = base64.b64decode(kept.removeprefix(_PREFIX), validate=True)
            return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], bound).decode()
        except (InvalidTag, ValueError):
            raise _cannot(
                datasource,
                f"its password was encrypted with another {MASTER_KEY} than this gateway has",
            ) from None

    @cached_property
    def _cipher(self) -> "AESGCM":
        # Deferred: 10 MB, for datasources with a password alone.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - see above

        return AESGCM(hmac.digest(_key_of(self._master), _PURPOSE, hashlib.sha256))


def _key_of(master: str) -> bytes:
    """Return the 32 bytes that *master* spells in base64, or else a hash of it (S2.25)."""
    try:
        raw = base64.b64decode(master.strip(), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    return raw if len(raw) == _KEY_BYTES else hashlib.sha256(master.encode()).digest()


def _bound_to(tenant: str, datasource: str, use: Use) -> bytes:
    return f"{use}\x00{tenant}\x00{datasource}".encode()


def _cannot(datasource: Datasource, why: str) -> DataFailure:
    return DataFailure(
        DataCode.SERVICE_UNAVAILABLE,
        f"datasource {datasource.name!r} cannot be opened: {why}; an administrator sets the key"
        " that it was added with, or gives its URL again with `remit datasources set`",
        details={"datasource": datasource.name},
    )
