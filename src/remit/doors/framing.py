"""A request that offers another protocol is read as framed, as if it had not (RFC 9110 §7.8).

head ──▶ parser ──`Upgrade`──▶ it stops ──▶ the head without that line, to a new one ──▶ body

The parser takes what is behind such a head for the other protocol's, and uvicorn for the next
request: a body would be lost, or run as a request of its own.
"""

from typing import Final

import httptools

from remit.doors.sending import SendingProtocol

INVALID: Final = "Invalid HTTP request received."
"""What is said of bytes that are no request, in uvicorn's words."""


class FramingProtocol(SendingProtocol):
    """uvicorn's HTTP protocol, which changes to no other one.

    The parser tells of a message that ends with the head where it stops; who takes what it tells
    has to pass that over.
    """

    def data_received(self, data: bytes) -> None:
        """Have the parser read all of *data*."""
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.logger.warning(INVALID)
            self.send_400_response(INVALID)

    def _feed(self, data: bytes) -> None:
        rest: bytes | memoryview = data
        while True:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as stopped:
                rest = memoryview(rest)[stopped.args[0] :]
                self._read_head_anew()
            else:
                return

    def _read_head_anew(self) -> None:
        """Read the head again without what it offers.

        Raises:
            httptools.HttpParserError: It is a CONNECT, which has no body of its own.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            raise httptools.HttpParserError
        lines = [b"%b: %b\r\n" % line for line in self.headers if line[0] != b"upgrade"]
        head = b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version.encode(), b"".join(lines))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self.parser.feed_data(head)
