"""`remit tools`: what one caller sees, with the token cost of its list."""

from msgspec.structs import asdict

from remit.app.gateway import open_gateway
from remit.cli.file_note import note_file
from remit.cli.lines import print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, as_rows, print_table, run
from remit.cli.remote import KeyFlag, Remote, UrlFlag, reach
from remit.cli.servers import print_absent, settle
from remit.cli.subjects import SubjectFlag, find_subject
from remit.client import authority
from remit.model.counts import counted
from remit.settings import Settings


def tools(
    subject: SubjectFlag,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the tools that a caller sees, and what their list costs a model in tokens."""
    if (remote := reach(url, key, tenant)) is not None:
        entries, note = _asked(remote, subject)
    else:
        entries, note = run(lambda: _listed(Settings.read(config, tenant=tenant), subject))
    if as_json:
        print_json(entries)
    else:
        columns = ("server", "tool", "name", "tokens")
        print_table(columns, as_rows(entries, columns), empty="no tools")
        if entries:
            total = sum(int(str(entry["tokens"])) for entry in entries)
            say("")
            say(f"{counted(len(entries), 'tool')}, about {counted(total, 'token')}")
    if note:
        say(note, err=True)


def _asked(remote: Remote, subject: str) -> tuple[list[dict[str, object]], str]:
    entries = [asdict(tool) for tool in remote.all_items(authority.tools(subject))]
    return entries, remote.ask(authority.tools(subject, limit=1)).note


async def _listed(settings: Settings, subject: str) -> tuple[list[dict[str, object]], str]:
    async with open_gateway(settings, author="") as gateway:
        await note_file(gateway.installation, gateway.installation.file)
        principal = await find_subject(gateway.installation, subject)
        await settle(gateway)
        print_absent(gateway)
        listing = gateway.home.listing
        entries: list[dict[str, object]] = [
            {
                "server": tool.id.server,
                "tool": tool.id.name,
                "name": listing.published_name(tool.id, None),
                "tokens": listing.token_cost(tool),
            }
            for tool in listing.visible(principal, None)
        ]
        return entries, listing.instructions(principal, None)
