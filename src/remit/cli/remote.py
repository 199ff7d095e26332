"""`--url` and `--key`: the same commands, asked of a running gateway."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from remit.cli.output import EXIT_USAGE, fail, refuse
from remit.client import me
from remit.client.address import KEY_VARIABLE, Address
from remit.client.operations import Operation, Page, Tagged
from remit.client.tools import CallResult
from remit.errors import CallDenied, CallRefused, ClientError, ProblemDetails

if TYPE_CHECKING:
    from remit.client.synchronous import Client

T = TypeVar("T")

_NOT_FOUND = 404

UrlFlag = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="Ask a running gateway, such as http://127.0.0.1:8400."
    ),
]
KeyFlag = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help=f"The key for --url; better in ${KEY_VARIABLE}, which no list of processes shows.",
    ),
]


class Remote:
    """A running gateway; what it refuses ends the command with its own words."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def ask(self, operation: Operation[T]) -> T:
        """Ask for something of its API."""
        return self.ask_tagged(operation).value

    def find(self, operation: Operation[T]) -> T | None:
        """Do the same; None where there is no such thing."""
        with self._client() as client:
            try:
                return client.ask(operation)
            except ProblemDetails as problem:
                if problem.status != _NOT_FOUND:
                    raise
                return None

    def ask_tagged(self, operation: Operation[T]) -> Tagged[T]:
        """Do the same and tell its `ETag`."""
        with self._client() as client:
            return client.ask_tagged(operation)

    def project(self, tenant: str | None) -> str:
        """Return the tenant that is meant: the one that is named, or the key's own."""
        return tenant or self.ask(me.get()).tenant

    def all_items(self, operation: Operation[Page[T]], most: int | None = None) -> list[T]:
        """Read a list to its end, or to *most* entries."""
        with self._client() as client:
            return list(islice(client.pages(operation), most))

    @contextmanager
    def stream(self, operation: Operation[str]) -> Generator[Iterator[str]]:
        """Read what is long, in parts."""
        with self._client() as client, client.stream(operation) as parts:
            yield parts

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool as the holder of the key."""
        with self._client() as client:
            try:
                return client.call_tool(name, arguments)
            except CallRefused as refused:
                is_denied = refused.code == CallDenied.code
                fail(f"denied: {refused}" if is_denied else str(refused))

    @contextmanager
    def _client(self) -> Generator["Client"]:
        # Only here, since httpx2 takes 30 ms that commands without --url do not wait for.
        from remit.client.synchronous import Client  # noqa: PLC0415 - see above

        at = self._address
        try:
            with Client(at.base, key=at.key, tenant=at.tenant) as client:
                yield client
        except ClientError as error:
            refuse(error)


def reach(url: str | None, key: str | None, tenant: str | None) -> Remote | None:
    """Return the gateway that the flags name, or None; leave with status 2 when they do not do."""
    if url is None:
        if key is not None:
            fail("--key goes with --url", EXIT_USAGE)
        return None
    try:
        return Remote(Address.parse(url, key=key, tenant=tenant))
    except ClientError as error:
        fail(f"--url: {error}", EXIT_USAGE)
