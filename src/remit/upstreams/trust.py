"""Whose certificates are believed: read once, since reading them takes tens of milliseconds."""

import ssl
from functools import cached_property


class Trust:
    """The certificates that the system trusts, for all servers together."""

    @cached_property
    def context(self) -> ssl.SSLContext:
        """What connections by TLS are opened with."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context
