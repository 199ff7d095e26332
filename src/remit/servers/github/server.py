"""The GitHub server as an object: the same in the gateway's process and alone on stdio."""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from remit.servers.arguments import Arguments
from remit.servers.command_line import ServerArguments
from remit.servers.errors import ToolError
from remit.servers.github.complaints import complaint
from remit.servers.github.repository import Repository
from remit.servers.github.tools import tools_of
from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import StrangeShapeError
from remit.servers.rest.service import Service
from remit.servers.toolbox import Tool, ToolServer

PUBLIC: Final = "https://api.github.com"
"""Where GitHub's API is, unless `GITHUB_API_URL` says otherwise."""

_API_VERSION: Final = "2022-11-28"
_REPOSITORY: Final = re.compile(r"([A-Za-z0-9._-]+)/([A-Za-z0-9._-]+)")


class GitHubServer(ToolServer[Repository]):
    """Ten tools over GitHub's REST API, with one token.

    Args:
        client: Of the API.
        repository: `OWNER/NAME`, meant by calls that name none; empty when there is none.
        read_only: Leaves out the tools that may change something.
        time_limit: Seconds a call may take; less than the gateway's, so that it can say why.
    """

    def __init__(
        self,
        client: RestClient,
        *,
        repository: str = "",
        read_only: bool = False,
        time_limit: float = 28.0,
    ) -> None:
        self._client = client
        self._patience = time_limit / 2
        # GitHub asks for one change after the other, and a key must be looked for before its twin.
        self._turn = anyio.Lock()
        self._owner, _, self._name = repository.partition("/")
        super().__init__(
            "github",
            tools_of(self._owner, self._name),
            self._open,
            time_limit=time_limit,
            read_only=read_only,
            after_limit="whether a change was made is unknown, so look before you try again",
        )

    async def aclose(self) -> None:
        """Close the connections to GitHub."""
        await self._client.aclose()

    @asynccontextmanager
    async def _open(
        self, tool: Tool[Repository], arguments: Arguments
    ) -> AsyncGenerator[Repository]:
        place = Repository(
            client=self._client,
            owner=arguments.text("owner", self._owner),
            name=arguments.text("repo", self._name),
        )
        if bool(place.owner) != bool(place.name):
            raise ToolError("give owner and repo, or neither")
        async with AsyncExitStack() as stack:
            if not tool.hints.read_only:
                await self._wait_for_turn()
                stack.callback(self._turn.release)
            try:
                yield place
            except RestFault as fault:
                raise complaint(fault, place.about) from fault
            except StrangeShapeError as error:
                raise ToolError(self._client.service.strange) from error

    async def _wait_for_turn(self) -> None:
        with anyio.move_on_after(self._patience):
            await self._turn.acquire()
            return
        raise ToolError("nothing was done: other changes are still under way; try again")


def open_server(args: Sequence[str], environ: Mapping[str, str], folder: Path) -> GitHubServer:
    """Open the server that arguments and environment describe.

    Args:
        args: Empty, or `["--read-only"]`.
        environ: `GITHUB_TOKEN`, and if need be `GITHUB_API_URL` and `GITHUB_REPOSITORY`.
        folder: Unused.

    Raises:
        ValueError: If they do not fit; the message is one line and holds no secret.
    """
    del folder
    parser = ServerArguments("github")
    read_only: bool = parser.read(args).read_only
    with parser.naming():
        client = RestClient(_service(environ))
        repository = _repository(environ.get("GITHUB_REPOSITORY", "").strip())
    return GitHubServer(client, repository=repository, read_only=read_only)


def _service(environ: Mapping[str, str]) -> Service:
    token = environ.get("GITHUB_TOKEN", "").strip()
    if not token:
        raise ValueError("GITHUB_TOKEN is not set; GitHub is asked in its name")
    try:
        credential = Credential.bearer(token)
    except ValueError as error:
        raise ValueError(f"GITHUB_TOKEN {error}") from error
    return Service(
        name="GitHub",
        base=environ.get("GITHUB_API_URL", "").strip() or PUBLIC,
        setting="GITHUB_API_URL",
        credential=credential,
        headers={
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": _API_VERSION,
            "User-Agent": "remit-github",
        },
    )


def _repository(value: str) -> str:
    if value and _REPOSITORY.fullmatch(value) is None:
        raise ValueError(f"GITHUB_REPOSITORY is {value[:100]!r}; expected OWNER/NAME")
    return value
