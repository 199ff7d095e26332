"""How whole answers leave.

answer ──alone───────▶ socket; a next request that is about to come is waited for awake
   └──in company─────▶ held ──end of the event loop's turn──▶ socket, one after the other

A client that sleeps is woken by the first byte for it: where many clients share a machine, or one
client has many connections, that is paid once for all answers of a turn and not once for each.
"""

from typing import Any

from remit.doors.taking import TakingProtocol
from remit.upstreams.company import Company
from remit.upstreams.promptness import Promptness


class SendingProtocol(TakingProtocol):
    """uvicorn's HTTP protocol, which can hold an answer for a moment.

    Args:
        company: Of the answers to all clients of the same port.
        given: What uvicorn gives its protocols.

    Attributes:
        promptness: What is known of the client: how soon it asks again.
    """

    def __init__(self, *, company: Company, **given: Any) -> None:
        super().__init__(**given)
        self.company = company
        self.promptness = Promptness()
        self._unsent = b""

    def send_soon(self, answer: bytes) -> None:
        """Send a whole answer at the end of the event loop's turn.

        Whatever else writes to the connection or closes it comes later, or sends this first.
        """
        self._unsent = answer
        self.company.hold(self._send_out)

    def eof_received(self) -> None:
        """Take note that the client sends no more, which ends the connection."""
        self._send_out()
        super().eof_received()

    def shutdown(self) -> None:
        """End the connection as soon as nothing is being answered."""
        self._send_out()
        super().shutdown()

    def _send_out(self) -> None:
        answer, self._unsent = self._unsent, b""
        if answer and not self.transport.is_closing():
            self.transport.write(answer)
