"""HTTP/1.1 with a bound on the head of a request, which the parser itself does not have.

Whoever sends headers without end has sent no credential yet, so nothing else would stop them.
"""

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD: Final = 64 * 1024
"""Bytes of request line and headers that are waited for; a token has 16 KiB at most."""

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class BoundedHttp(HttpToolsProtocol):
    """Ends connections on which a head does not end.

    What arrives at once is read at once, so a head may be larger by one read (256 KiB).
    """

    _unfinished = 0

    def data_received(self, data: bytes) -> None:
        """Read on; a head that goes on beyond the bound is refused with 431."""
        super().data_received(data)
        if "method" in (self.scope or ("method",)):  # the head is whole, or none has begun
            self._unfinished = 0
            return
        self._unfinished += len(data)
        if self._unfinished > LARGEST_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()
