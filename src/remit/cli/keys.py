"""`remit keys`: credentials for callers."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from remit.admin.agents import get_agent, registered
from remit.admin.keys import (
    MadeKey,
    check_purpose,
    is_administered,
    make_key,
    parse_expiry,
    rotate_key,
)
from remit.app.installation import open_installation
from remit.cli.changes import making
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    ConfigFlag,
    JsonFlag,
    TenantFlag,
    fail,
    print_entries,
    run,
)
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.cli.remote_values import key_of
from remit.client import keys as client_keys
from remit.errors import BadCall
from remit.model.keys import Key
from remit.settings import Settings

keys_app = typer.Typer(help="Make, list, rotate and revoke API keys.", no_args_is_help=True)

NO_ADMINISTRATOR: Final = (
    "no administrator's key holds any more; `remit keys create NAME --admin` makes one"
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The name the key is known by, such as ci.")
]

RoleFlag = Annotated[
    str | None,
    typer.Option("--role", metavar="ROLE", help="The role of remit.yaml that its bearer acts in."),
]

UserRoleFlag = Annotated[
    str | None,
    typer.Option(
        "--user-role",
        metavar="ROLE",
        help="What its bearer is to the data server: user, admin, data or developer.",
    ),
]

AuditorFlag = Annotated[
    bool,
    typer.Option(
        "--auditor",
        help="Reads what an administrator reads, but no secret; changes and calls nothing.",
    ),
]

OwnerFlag = Annotated[
    str | None,
    typer.Option(
        "--owner",
        metavar="USER",
        help="The user whose key it is: nobody decides on what they suggested with it.",
    ),
]

ExpiresFlag = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="WHEN",
        help="A span such as 12h, 30d or 8w, or an ISO 8601 time; default never.",
    ),
]


@keys_app.command()
def create(
    name: NameArgument,
    *,
    role: RoleFlag = None,
    user_role: UserRoleFlag = None,
    service: Annotated[
        bool, typer.Option("--service", help="A service key: approved queries and nothing else.")
    ] = False,
    queries: Annotated[
        list[str] | None,
        typer.Option("--query", metavar="ID", help="A query the service key may run; repeatable."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="ID", help="The agent that its bearer is."),
    ] = None,
    act_for: Annotated[
        list[str] | None,
        typer.Option(
            "--act-for",
            metavar="ID",
            help="An agent that its bearer may act for, beside what it is; repeatable.",
        ),
    ] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="For administration, such as /readyz; calls no tool.")
    ] = False,
    auditor: AuditorFlag = False,
    owner: OwnerFlag = None,
    expires: ExpiresFlag = None,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key and show it, once: only its hash is kept.

    Say what it is for: --role and --user-role (alone or together), --service, --agent, --admin or
    --auditor. Beside any of them, --act-for names agents that it may act for.
    """
    purpose = _Purpose(
        role=role,
        user_role=user_role,
        service=service,
        queries=tuple(queries or ()),
        agent=agent,
        act_for=tuple(act_for or ()),
        admin=admin,
        auditor=auditor,
        owner=owner,
    )
    purpose.check()
    if (remote := reach(url, key, tenant)) is not None:
        made = _made(remote.ask(client_keys.create(name, expires=expires, **asdict(purpose))))
    else:
        made = run(lambda: _create(Settings.read(config, tenant=tenant), name, purpose, expires))
    _show(made, as_json)


@keys_app.command()
def rotate(
    name: NameArgument,
    overlap: Annotated[
        float,
        typer.Option(
            "--overlap",
            metavar="SECONDS",
            min=0,
            help="How long the old secret goes on holding; default: it ends at once.",
        ),
    ] = 0.0,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Give a key a new secret and show it, once; what the key is for stays the same."""
    if (remote := reach(url, key, tenant)) is not None:
        made = _made(remote.ask(client_keys.rotate(name, overlap=overlap)))
    else:
        made = run(lambda: _rotate(Settings.read(config, tenant=tenant), name, overlap))
    _show(made, as_json)


@keys_app.command("list")
def list_keys(
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show every key, never its secret."""
    if (remote := reach(url, key, tenant)) is not None:
        keys = [key_of(one) for one in remote.all_items(client_keys.list_all())]
    else:
        keys = run(lambda: _all(Settings.read(config, tenant=tenant)))
    entries = [_entry(key) for key in keys]
    print_entries(
        entries,
        ("id", "name", "for", "state", "created", "expires", "last_used"),
        empty="no keys: make one with `remit keys create`",
        as_json=as_json,
    )


@keys_app.command()
def revoke(
    name: NameArgument,
    *,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """End a key; a running gateway refuses it within 2 seconds."""
    if (remote := reach(url, key, tenant)) is not None:
        ended = key_of(remote.ask(client_keys.revoke(name)))
    else:
        ended = run(lambda: _revoke(Settings.read(config, tenant=tenant), name))
    if as_json:
        print_json(_entry(ended))
        return
    say(f"key {ended.name!r} ({ended.id}) is revoked; a running gateway refuses it within 2 s")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Purpose:
    """What a new key is for, as the flags say."""

    role: str | None
    user_role: str | None
    service: bool
    queries: Sequence[str]
    agent: str | None
    act_for: Sequence[str]
    admin: bool
    auditor: bool
    owner: str | None

    def told(self) -> dict[str, object]:
        """Return what was said of it, for the record."""
        return {name: value for name, value in asdict(self).items() if value}

    def check(self) -> None:
        """Leave with status 2 when the flags do not go together."""
        try:
            check_purpose(
                role=self.role,
                user_role=self.user_role,
                service=self.service,
                queries=self.queries,
                agent=self.agent,
                act_for=self.act_for,
                admin=self.admin,
                auditor=self.auditor,
            )
        except BadCall as bad:
            fail(str(bad), EXIT_USAGE)


def _made(shown: client_keys.MadeKey) -> MadeKey:
    return MadeKey(key=key_of(shown), text=shown.key)


def _show(made: MadeKey, as_json: bool) -> None:
    """Show a key, once; leave with status 3 where nothing can be written."""
    try:
        if as_json:
            print_json({"id": made.key.id, "name": made.key.name, "key": made.text})
        else:
            say(made.text)
        sys.stdout.flush()
    except OSError as error:
        _close_output()
        fail(
            f"the key {made.key.name!r} ({made.key.id}) is made, and cannot be shown:"
            f" {error.strerror or error}; nobody knows its text, so end it by"
            f" `remit keys revoke {made.key.name}`, or give it another by `remit keys rotate`",
            EXIT_UNREACHABLE,
        )
    if not as_json:
        say("Keep it now: it cannot be shown again.", err=True)


def _close_output() -> None:
    """Give up what could not be written, so that the end of the program does not try again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


async def _create(settings: Settings, name: str, purpose: _Purpose, expires: str | None) -> MadeKey:
    now = datetime.now(UTC)
    asked = {"name": name, **purpose.told(), **({"expires": expires} if expires else {})}
    async with (
        open_installation(settings, author="", may_begin=True) as installation,
        making(installation, "keys.create", asked),
    ):
        agents, tenant = installation.agents, installation.tenant.name
        return await make_key(
            installation.keys,
            name,
            tenant=tenant,
            now=now,
            role=purpose.role,
            user_role=purpose.user_role,
            service=purpose.service,
            queries=purpose.queries,
            agent=await get_agent(agents, tenant, purpose.agent) if purpose.agent else None,
            act_for=await registered(agents, tenant, purpose.act_for),
            admin=purpose.admin,
            auditor=purpose.auditor,
            owner=purpose.owner or "",
            expires=parse_expiry(expires, now) if expires is not None else None,
            roles=installation.policy.declaration.roles,
        )


async def _rotate(settings: Settings, name: str, overlap: float) -> MadeKey:
    async with (
        open_installation(settings, author="") as installation,
        making(installation, "keys.rotate", {"name": name, "overlap": overlap}),
    ):
        return await rotate_key(
            installation.keys,
            name,
            tenant=installation.tenant.name,
            now=datetime.now(UTC),
            overlap=overlap,
        )


async def _all(settings: Settings) -> list[Key]:
    async with open_installation(settings, author="") as installation:
        return list(await installation.keys.all_keys(installation.tenant.name))


async def _revoke(settings: Settings, name: str) -> Key:
    async with (
        open_installation(settings, author="") as installation,
        making(installation, "keys.revoke", {"name": name}),
    ):
        keys, tenant, now = installation.keys, installation.tenant.name, datetime.now(UTC)
        ended = await keys.revoke(tenant, name, now)
        if ended.admin and not await is_administered(keys, tenant, now):
            say(f"note: {NO_ADMINISTRATOR}", err=True)
        return ended


def _entry(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "for": _purpose_of(key),
        "role": ", ".join(key.roles),
        "user_role": ", ".join(key.user_roles),
        "service": key.service,
        "queries": list(key.queries),
        "agent": key.agent or None,
        "act_for": list(key.act_for),
        "admin": key.admin,
        "auditor": key.auditor,
        "owner": key.owner or None,
        "state": key.state_at(datetime.now(UTC)),
        "created": _shown(key.created),
        "expires": _shown(key.expires),
        "revoked": _shown(key.revoked),
        "last_used": _shown(key.last_used),
    }


def _purpose_of(key: Key) -> str:
    parts = [
        *(f"role {role}" for role in key.roles),
        *(f"user role {role}" for role in key.user_roles),
        *(["service"] if key.service else []),
        *(f"query {query}" for query in key.queries),
        *([f"agent {key.agent}"] if key.agent else []),
        *(f"acting for {agent}" for agent in key.act_for),
        *(["administration"] if key.admin else []),
        *(["auditing"] if key.auditor else []),
    ]
    return ", ".join(parts)


def _shown(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
