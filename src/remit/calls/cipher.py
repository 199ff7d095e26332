"""Encrypts what a caller keeps for us, so that it can neither read nor alter it."""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE: Final = 12
_KEY: Final = 32


class Cipher:
    """AES-256-GCM.

    Args:
        key: Secret bytes of the installation.
        purpose: Tells apart what is sealed for one end from what is for another.
    """

    def __init__(self, key: bytes, purpose: bytes) -> None:
        self._cipher = AESGCM(HKDF(SHA256(), _KEY, salt=None, info=purpose).derive(key))

    def seal(self, plain: bytes, bound: bytes) -> bytes:
        """Return *plain* so that it opens only beside the same *bound*."""
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, plain, bound)

    def open(self, sealed: bytes, bound: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            ValueError: It was not sealed so.
        """
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], bound)
        except InvalidTag as error:
            raise ValueError("not sealed so") from error
