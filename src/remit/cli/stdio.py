"""`remit stdio`: the same gateway for one caller, over standard input and output."""

from remit.app.doors import build_door
from remit.app.gateway import open_gateway
from remit.cli.output import ConfigFlag, TenantFlag, run
from remit.cli.subjects import SubjectFlag, find_subject
from remit.doors.mcp.pipes import standard_streams
from remit.doors.mcp.stdio import serve_stdio
from remit.settings import Settings


def stdio(subject: SubjectFlag, config: ConfigFlag = None, tenant: TenantFlag = None) -> None:
    """Serve one caller over stdio, for clients that start their servers themselves.

    Nothing but MCP goes to standard output; logs go to standard error.
    """
    run(lambda: _serve(Settings.read(config, tenant=tenant), subject))


async def _serve(settings: Settings, subject: str) -> None:
    async with (
        standard_streams() as (stdin, stdout),
        open_gateway(settings, author="stdio") as gateway,
    ):
        principal = await find_subject(gateway.installation, subject)
        door = build_door(gateway, gateway.home)
        # Calls and servers have one time to end, together.
        await serve_stdio(door, principal, stdin, stdout, on_end=gateway.warden.hurry)
