"""HTTP on loopback, in plain text."""

import ssl
from typing import Final

TRUSTS_NOBODY: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For `verify=`: plain HTTP needs no certificate, and every client of httpx2 reads all of the
system's otherwise, which takes 30 ms."""
