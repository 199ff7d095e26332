"""`remit alerts`: what somebody should look at in what callers do with data (S2.48)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from remit.app.installation import Installation, open_installation
from remit.calls.ids import new_id
from remit.cli.changes import making, operator
from remit.cli.lines import print_json, say
from remit.cli.output import ConfigFlag, JsonFlag, TenantFlag, print_entries, run
from remit.cli.remote import KeyFlag, UrlFlag, reach
from remit.client import alerts
from remit.data.alerts.desk import AlertDesk, Closed
from remit.identity.clock import utc_now
from remit.model.alerts import Alert, AlertStatus, AlertType, Severity
from remit.settings import Settings
from remit.storage.alerts import Alerts
from remit.storage.notices import Notices

alerts_app = typer.Typer(help="Show and close alerts on use of data.", no_args_is_help=True)

AlertArgument = Annotated[str, typer.Argument(metavar="ALERT", help="The id of the alert.")]
NoteFlag = Annotated[str, typer.Option("--note", help="What there is to say about it.")]

Shown = Mapping[str, Any]

_COLUMNS: Final = ("id", "opened", "severity", "status", "user", "title")


@alerts_app.command("list")
def list_alerts(
    *,
    status: Annotated[AlertStatus | None, typer.Option("--status")] = None,
    severity: Annotated[Severity | None, typer.Option("--severity")] = None,
    type_: Annotated[AlertType | None, typer.Option("--type")] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="SUBJECT", help="Such as user:ann.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most alerts.")] = 100,
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show alerts, newest first."""
    if (remote := reach(url, key, tenant)) is not None:
        page = remote.ask(
            alerts.list_newest(
                remote.project(tenant),
                status=status,
                type_=type_,
                severity=severity,
                user=user,
                limit=limit,
            )
        ).data
        shown: Sequence[Shown] = [_entry(alert) for alert in page.items]
    else:

        async def find() -> Sequence[Shown]:
            async with open_installation(Settings.read(config, tenant=tenant), author="") as opened:
                found = await _desk(opened).alerts(
                    opened.tenant.name,
                    status=status,
                    type_=type_,
                    severity=severity,
                    user=user,
                    limit=limit,
                )
                return [_entry(alert) for alert in found]

        shown = run(find)
    print_entries(shown, _COLUMNS, empty="no alerts", as_json=as_json)


@alerts_app.command()
def resolve(
    alert: AlertArgument,
    *,
    note: NoteFlag = "",
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Close an alert about which something was done."""
    if (remote := reach(url, key, tenant)) is not None:
        asked = alerts.resolve(remote.project(tenant), alert, note=note)
        shown = _entry(remote.ask(asked).data)
    else:
        settings = Settings.read(config, tenant=tenant)
        shown = run(lambda: _close(settings, alert, AlertStatus.RESOLVED, note))
    _tell(shown, as_json=as_json)


@alerts_app.command()
def dismiss(
    alert: AlertArgument,
    *,
    note: NoteFlag = "",
    config: ConfigFlag = None,
    tenant: TenantFlag = None,
    url: UrlFlag = None,
    key: KeyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Close an alert about which nothing need be done."""
    if (remote := reach(url, key, tenant)) is not None:
        asked = alerts.dismiss(remote.project(tenant), alert, note=note)
        shown = _entry(remote.ask(asked).data)
    else:
        settings = Settings.read(config, tenant=tenant)
        shown = run(lambda: _close(settings, alert, AlertStatus.DISMISSED, note))
    _tell(shown, as_json=as_json)


async def _close(settings: Settings, alert_id: str, status: Closed, note: str) -> Shown:
    operation = {AlertStatus.RESOLVED: "alerts.resolve", AlertStatus.DISMISSED: "alerts.dismiss"}
    async with (
        open_installation(settings, author="") as opened,
        making(opened, operation[status], {"id": alert_id}),
    ):
        closed = await _desk(opened).close(
            opened.tenant.name, alert_id, status, by=operator(), note=note
        )
        return _entry(closed)


def _desk(opened: Installation) -> AlertDesk:
    store = Alerts(opened.database, Notices(opened.database))
    return AlertDesk(store=store, clock=utc_now, new_id=new_id)


def _entry(alert: Alert | alerts.Alert) -> Shown:
    return {
        "id": alert.id,
        "type": str(alert.type),
        "severity": str(alert.severity),
        "status": str(alert.status),
        "user": alert.user,
        "title": alert.title,
        "details": dict(alert.details),
        "about": alert.about,
        "opened": alert.opened.isoformat(timespec="seconds"),
        "closed": None if alert.closed is None else alert.closed.isoformat(timespec="seconds"),
        "closed_by": alert.closed_by or None,
        "note": alert.note,
    }


def _tell(shown: Shown, *, as_json: bool) -> None:
    if as_json:
        print_json(shown)
    else:
        say(f"alert {shown['id']!r} is {shown['status']}")
