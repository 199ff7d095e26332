"""`remit stdio`: the same gateway for one caller, over standard input and output."""

from remit.app import build_door, open_gateway
from remit.cli.output import ConfigFlag, run
from remit.cli.subjects import SubjectFlag, find_subject
from remit.doors.mcp.pipes import standard_streams
from remit.doors.mcp.stdio import serve_stdio
from remit.settings import Settings


def stdio(subject: SubjectFlag, config: ConfigFlag = None) -> None:
    """Serve one caller over stdio, for clients that start their servers themselves.

    Nothing but MCP goes to standard output; logs go to standard error.
    """
    run(lambda: _serve(Settings.read(config), subject))


async def _serve(settings: Settings, subject: str) -> None:
    async with (
        standard_streams() as (stdin, stdout),
        open_gateway(settings, author="stdio") as gateway,
    ):
        principal = await find_subject(gateway.installation, subject)
        await serve_stdio(build_door(gateway), principal, stdin, stdout)
