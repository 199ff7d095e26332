"""The events that tell of alerts, in the outbox of the crew's (S2.48, S3.29)."""

from datetime import datetime
from typing import Final

from remit.model.alerts import Alert, AlertStatus
from remit.model.crew import CrewEvent

OPENED: Final = "alert.opened"

TOPIC_OF: Final = {
    AlertStatus.OPEN: OPENED,
    AlertStatus.RESOLVED: "alert.resolved",
    AlertStatus.DISMISSED: "alert.dismissed",
}
"""Status to the topic of the event that tells of it."""


def told_of(alert: Alert, topic: str, event_id: str, now: datetime) -> CrewEvent:
    """Return the event that tells of an alert; it holds nothing that a caller sent, and no note."""
    return CrewEvent(
        id=event_id,
        tenant=alert.tenant,
        topic=topic,
        payload={
            "alertId": alert.id,
            "alertType": alert.type.value,
            "severity": alert.severity.value,
            "user": alert.user,
            "title": alert.title,
            "status": alert.status.value,
            "opened": alert.opened.isoformat(),
            **({"closedBy": alert.closed_by} if alert.closed_by else {}),
        },
        created=now,
    )
