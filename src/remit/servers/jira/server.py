"""The Jira server as an object: the same in the gateway's process and alone on stdio."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.command_line import ServerArguments
from remit.servers.errors import ToolError
from remit.servers.jira.site import Deployment, Jira
from remit.servers.jira.tools import TOOLS
from remit.servers.jira.turns import Turns
from remit.servers.rest.client import RestClient
from remit.servers.rest.credentials import Credential
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import StrangeShapeError
from remit.servers.rest.service import Service
from remit.servers.toolbox import Tool, ToolServer

_TIME_LIMIT: Final = 28.0
"""Seconds a call may take; less than the gateway's, so that it can say why."""

_ADVICE: Final = {
    HTTPStatus.UNAUTHORIZED: "JIRA_USERNAME and JIRA_API_TOKEN do not fit, or the token has"
    " expired; Cloud takes the e-mail address with an API token, Data Center a personal access"
    " token with JIRA_USERNAME left empty",
    HTTPStatus.FORBIDDEN: "the account of this server may not do that in Jira",
    HTTPStatus.NOT_FOUND: "it does not exist, or the account of this server may not see it",
    HTTPStatus.CONFLICT: "somebody changed it at the same time; read it again and decide anew",
}
_DEPLOYMENTS: Final[Mapping[str, Deployment | None]] = {
    "auto": None,
    "cloud": "cloud",
    "datacenter": "datacenter",
}


class JiraServer(ToolServer[Jira]):
    """Eight tools over one Jira, with one account.

    Args:
        jira: Which one.
        read_only: Leaves out the tools that may change something.
    """

    def __init__(self, jira: Jira, *, read_only: bool = False) -> None:
        super().__init__(
            "jira",
            TOOLS,
            self._open,
            time_limit=_TIME_LIMIT,
            read_only=read_only,
            after_limit="whether a change was made is unknown, so look before you try again",
        )
        self._jira = jira
        self._turns = Turns(_TIME_LIMIT / 2)

    async def aclose(self) -> None:
        """Close the connections to Jira."""
        await self._jira.aclose()

    @asynccontextmanager
    async def _open(self, tool: Tool[Jira], arguments: Arguments) -> AsyncGenerator[Jira]:
        key = arguments.text("ticket_key")
        name = key.upper() or arguments.text("idempotency_key")
        async with AsyncExitStack() as stack:
            if name and not tool.hints.read_only:
                await stack.enter_async_context(self._turns.turn(name))
            try:
                await self._jira.prepare()
                yield self._jira
            except RestFault as fault:
                raise _complaint(fault, key) from fault
            except StrangeShapeError as error:
                raise ToolError(self._jira.service.strange) from error


def _complaint(fault: RestFault, key: str) -> ToolError:
    parts = [f"{fault} ({key})" if key else str(fault)]
    if fault.headers.get("x-seraph-loginreason", "").upper() == "AUTHENTICATION_DENIED":
        parts.append("Jira wants this account to log in on its web page once, with a CAPTCHA")
    elif fault.status in _ADVICE and not fault.limited:
        parts.append(_ADVICE[HTTPStatus(fault.status)])
    return ToolError("; ".join(parts))


def open_server(args: Sequence[str], environ: Mapping[str, str], folder: Path) -> JiraServer:
    """Open the server that arguments and environment describe.

    Args:
        args: Empty, or `["--read-only"]`.
        environ: `JIRA_URL`, `JIRA_USERNAME`, `JIRA_API_TOKEN`; `JIRA_DEPLOYMENT` if need be.
        folder: Unused.

    Raises:
        ValueError: If they do not fit; the message is one line and holds no secret.
    """
    del folder
    parser = ServerArguments("jira")
    read_only: bool = parser.read(args).read_only
    with parser.naming():
        jira = Jira(RestClient(_service(environ)), _deployment(environ))
    return JiraServer(jira, read_only=read_only)


def _service(environ: Mapping[str, str]) -> Service:
    url = environ.get("JIRA_URL", "").strip()
    user = environ.get("JIRA_USERNAME", "").strip()
    token = environ.get("JIRA_API_TOKEN", "").strip()
    if not url:
        raise ValueError(
            "JIRA_URL is not set; it is where Jira is, such as https://x.atlassian.net"
        )
    if not token:
        raise ValueError("JIRA_API_TOKEN is not set; Jira is asked in its name")
    try:
        credential = Credential.basic(user, token) if user else Credential.bearer(token)
    except ValueError as error:
        raise ValueError(f"JIRA_API_TOKEN {error}") from error
    return Service(
        name="Jira",
        base=url.rstrip("/"),
        setting="JIRA_URL",
        credential=credential,
        # Without this Jira takes some requests for those of a web page.
        headers={"User-Agent": "remit-jira", "X-Atlassian-Token": "no-check"},
    )


def _deployment(environ: Mapping[str, str]) -> Deployment | None:
    value = environ.get("JIRA_DEPLOYMENT", "").strip().lower() or "auto"
    if value not in _DEPLOYMENTS:
        raise ValueError(f"JIRA_DEPLOYMENT is none of {', '.join(_DEPLOYMENTS)}")
    return _DEPLOYMENTS[value]
