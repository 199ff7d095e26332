"""How much waits for somebody, counted over the tables of mail, alerts, queries and changes."""

from sqlalchemy import ColumnElement, ScalarSelect, func, select

from remit.model.alerts import AlertStatus
from remit.model.data import QueryStatus
from remit.model.ontology import ChangeStatus
from remit.model.traffic import Waiting
from remit.storage.alert_tables import alerts
from remit.storage.data_tables import data_changes, data_queries
from remit.storage.database import Database
from remit.storage.tables import crew_mail


class WaitingThings:
    """What waits in every tenant; tables of what a tenant does not use are empty."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def waiting(self, tenant: str) -> Waiting:
        """Return how much waits for somebody in *tenant*.

        Raises:
            StorageUnavailable: The database cannot be used.
        """
        mail, queries, changes = crew_mail.c, data_queries.c, data_changes.c
        counts = select(
            _count(alerts.c.tenant == tenant, alerts.c.status == AlertStatus.OPEN).label("alerts"),
            _count(
                mail.tenant == tenant, mail.to_agent == "", mail.is_for_human, ~mail.is_read
            ).label("mail"),
            _count(
                queries.tenant == tenant,
                queries.status == QueryStatus.PENDING,
                queries.deleted.is_(None),
            ).label("suggestions"),
            _count(changes.tenant == tenant, changes.status == ChangeStatus.PENDING).label(
                "changes"
            ),
        )
        async with self._database.reading() as connection:
            row = (await connection.execute(counts)).one()
        return Waiting(
            alerts=row.alerts, mail=row.mail, suggestions=row.suggestions, changes=row.changes
        )


def _count(*conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).where(*conditions).scalar_subquery()
