"""The alerts of a project, and when they are raised (S2.48).

A project is a tenant; a path names it by UUID or name.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from remit.admin.alert_rules import alerts_document
from remit.admin.edits import set_alerts
from remit.data.alerts.desk import LONGEST_NOTE, Closed
from remit.doors.api.access import Administrator, ByProjectAdministrator, Reason
from remit.doors.api.bodies import BODY, JsonObject
from remit.doors.api.envelope import PROJECTS, Envelope
from remit.doors.api.paging import USUAL, Cursor, Limit, Page, read
from remit.doors.api.preconditions import IfMatch, of_seen, section_tag
from remit.model.alerts import Alert, AlertStatus, AlertType, Severity

router = APIRouter(prefix=f"{PROJECTS}/{{tenant}}/audit", tags=["alerts"])

_LISTED = "alerts"
_SECTION = "alerts"


class RaisedAlert(BaseModel):
    """An alert. It holds nothing that a caller sent."""

    id: str
    type: AlertType
    severity: Severity
    status: AlertStatus
    user: str = Field(description="Who did it, such as `user:ann` or `key:reports`.")
    title: str
    details: dict[str, Any] = Field(description="What was counted, and the threshold.")
    about: str = Field(description="Id of the execution or the call that raised it.")
    opened: datetime
    closed: datetime | None
    closed_by: str | None
    note: str

    @classmethod
    def of(cls, alert: Alert) -> "RaisedAlert":
        """Show an alert."""
        return cls(
            id=alert.id,
            type=alert.type,
            severity=alert.severity,
            status=alert.status,
            user=alert.user,
            title=alert.title,
            details=dict(alert.details),
            about=alert.about,
            opened=alert.opened,
            closed=alert.closed,
            closed_by=alert.closed_by or None,
            note=alert.note,
        )


class Closing(BaseModel):
    """What whoever closes it has to say."""

    model_config = ConfigDict(extra="forbid", strict=True)

    note: str = Field(default="", max_length=LONGEST_NOTE)


class ClosingAll(Closing):
    """Which open ones are meant, and what there is to say; without any filter, all."""

    type: Annotated[AlertType | None, Field(default=None, strict=False)]
    user: str | None = Field(default=None, max_length=500)


class ClosedCount(BaseModel):
    """How many were closed."""

    resolved: int


@router.get("/alerts", operation_id="alerts.list")
async def list_alerts(
    by: ByProjectAdministrator,
    *,
    status: Annotated[AlertStatus | None, Query(description="Only those that stand so.")] = None,
    type_: Annotated[
        AlertType | None, Query(alias="type", description="Only those of that type.")
    ] = None,
    severity: Annotated[Severity | None, Query(description="Only those.")] = None,
    user: Annotated[
        str | None, Query(max_length=500, description="Only those about that caller.")
    ] = None,
    limit: Limit = USUAL,
    cursor: Cursor = None,
) -> Envelope[Page[RaisedAlert]]:
    """Show alerts, newest first."""

    async def before(place: str | None, most: int) -> Sequence[Alert]:
        return await by.services.alerts.alerts(
            by.tenant.key,
            status=status,
            type_=type_,
            severity=severity,
            user=user,
            before=place,
            limit=most,
        )

    page = await read(before, lambda alert: alert.id, of=_LISTED, cursor=cursor, limit=limit)
    shown = [RaisedAlert.of(alert) for alert in page.items]
    return Envelope(data=Page(items=shown, next=page.next))


@router.post("/alerts/resolve-all", operation_id="alerts.resolve_all")
async def resolve_all(
    by: ByProjectAdministrator, closing: ClosingAll, reason: Reason = ""
) -> Envelope[ClosedCount]:
    """Resolve the open alerts, or those of a type or about a caller; a thousand at most."""
    async with by.making(reason, type=closing.type, user=closing.user):
        closed = await by.services.alerts.resolve_all(
            by.tenant.key,
            type_=closing.type,
            user=closing.user,
            by=by.principal.subject,
            note=closing.note,
        )
    return Envelope(data=ClosedCount(resolved=len(closed)))


@router.post("/alerts/{alert_id}/resolve", operation_id="alerts.resolve")
async def resolve(
    by: ByProjectAdministrator, alert_id: str, closing: Closing, reason: Reason = ""
) -> Envelope[RaisedAlert]:
    """Close an alert about which something was done."""
    return await _close(by, alert_id, AlertStatus.RESOLVED, closing, reason)


@router.post("/alerts/{alert_id}/dismiss", operation_id="alerts.dismiss")
async def dismiss(
    by: ByProjectAdministrator, alert_id: str, closing: Closing, reason: Reason = ""
) -> Envelope[RaisedAlert]:
    """Close an alert about which nothing need be done."""
    return await _close(by, alert_id, AlertStatus.DISMISSED, closing, reason)


@router.get("/alert-config", operation_id="alerts.config")
async def get_config(
    by: ByProjectAdministrator, response: Response
) -> Envelope[dict[str, dict[str, Any]]]:
    """Show every rule as it is in force, in the shape of `alerts` in a declaration."""
    return _config(by, response)


@router.put("/alert-config", operation_id="alerts.configure", openapi_extra={BODY: "Alerts"})
async def change_config(
    by: ByProjectAdministrator,
    body: JsonObject,
    response: Response,
    *,
    if_match: IfMatch = None,
    reason: Reason = "",
) -> Envelope[dict[str, dict[str, Any]]]:
    """Make `alerts` what the body says, as a revision; what it leaves out is as by default.

    With `If-Match` only while the rules are as they were read.
    """
    why = reason or f"alerts: {', '.join(body)[:200] or 'the defaults'}"
    edit = of_seen(set_alerts(body), _SECTION, if_match)
    async with by.making(why, alerts=sorted(body)) as progress:
        edited = await by.services.editor.write(
            by.tenant.key, edit, author=by.principal.subject, reason=why
        )
        progress.revision = edited.number
    return _config(by, response)


async def _close(
    by: Administrator, alert_id: str, status: Closed, closing: Closing, reason: str
) -> Envelope[RaisedAlert]:
    async with by.making(reason, id=alert_id):
        closed = await by.services.alerts.close(
            by.tenant.key, alert_id, status, by=by.principal.subject, note=closing.note
        )
    return Envelope(data=RaisedAlert.of(closed))


def _config(by: Administrator, response: Response) -> Envelope[dict[str, dict[str, Any]]]:
    declared = by.tenant.policy.declaration
    response.headers["ETag"] = section_tag(declared.document, _SECTION)
    return Envelope(data=alerts_document(declared.alerts))
