"""What the `data` servers of all tenants of a process share: stores, and datasources that are open.

Nothing of it is imported before somebody needs it: most installations declare no `data` server.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import anyio

from remit.admin.retention import hourly
from remit.app.installation import url_of
from remit.calls.ids import new_id
from remit.identity.clock import utc_now
from remit.model.data import Screening
from remit.model.health import DatasourceHealth
from remit.model.retention import Retention
from remit.settings import Settings
from remit.storage.database import Database
from remit.upstreams.background import open_background

if TYPE_CHECKING:
    from remit.data.datasources import Datasources
    from remit.data.desk import Stores
    from remit.data.places import Premises
    from remit.data.sealing import UrlSeal
    from remit.data.sources import OpenSources
    from remit.data.wording import DataWording


class DataPlace:
    """Stores and open datasources.

    Args:
        settings: Where the gateway keeps what is its own, and the master key.
        database: Where everything is kept.
        screening: Says of a tenant what becomes of values that look like injections (R35).
    """

    def __init__(
        self, settings: Settings, database: Database, screening: Callable[[str], Screening]
    ) -> None:
        self.screening = screening
        self._settings = settings
        self._database = database
        self._wanted = anyio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Let go of idle datasources meanwhile, and of all of them at the end."""
        async with open_background() as tasks:
            tasks.start_soon(self._keep_tidy)
            try:
                yield
            finally:
                if self._wanted.is_set():
                    with anyio.CancelScope(shield=True):
                        await self.sources.aclose()

    async def _keep_tidy(self) -> None:
        await self._wanted.wait()
        await self.sources.keep_tidy()

    async def keep_to_retention(self, retentions: Callable[[], Mapping[str, Retention]]) -> None:
        """Forget what ran long ago, until cancelled."""
        await self._wanted.wait()
        # Deferred: most installations need none of it.
        from remit.data.retention import forget_old  # noqa: PLC0415 - see above

        await hourly(lambda: forget_old(self.stores.executions, retentions(), utc_now()))

    @cached_property
    def stores(self) -> "Stores":
        """Where everything is kept."""
        # Deferred: most installations need none of it.
        from remit.data.desk import Stores  # noqa: PLC0415 - see above
        from remit.storage.datasources import Datasources  # noqa: PLC0415 - see above
        from remit.storage.executions import Executions  # noqa: PLC0415 - see above
        from remit.storage.keys import Keys  # noqa: PLC0415 - see above
        from remit.storage.ontology import Ontology  # noqa: PLC0415 - see above
        from remit.storage.queries import Queries  # noqa: PLC0415 - see above

        return Stores(
            datasources=Datasources(self._database),
            queries=Queries(self._database),
            executions=Executions(self._database),
            ontology=Ontology(self._database),
            keys=Keys(self._database),
        )

    @cached_property
    def sources(self) -> "OpenSources":
        """The datasources that are open."""
        # Deferred: most installations need none of it.
        from remit.data.engines.opening import open_engine  # noqa: PLC0415 - see above
        from remit.data.sources import OpenSources  # noqa: PLC0415 - see above

        self._wanted.set()
        return OpenSources(self.seal, self.premises, open_engine)

    @cached_property
    def datasources(self) -> "Datasources":
        """What administrators do with them."""
        # Deferred: most installations need none of it.
        from remit.data.datasources import Datasources  # noqa: PLC0415 - see above

        return Datasources(
            store=self.stores.datasources,
            sources=self.sources,
            seal=self.seal,
            premises=self.premises,
            clock=utc_now,
            new_id=new_id,
        )

    async def examine(self, tenant: str) -> Sequence[DatasourceHealth]:
        """Connect to every datasource of a tenant, one after the other, and leave it again.

        Raises:
            StorageUnavailable: Nobody can say which there are.
        """
        found: list[DatasourceHealth] = []
        for each in await self.datasources.all(tenant):
            trial = await self.datasources.try_out(each)
            found.append(
                DatasourceHealth(
                    name=each.name, problem=trial.problem, warnings=trial.warnings, ms=trial.ms
                )
            )
        return found

    @cached_property
    def wording(self) -> "DataWording":
        """What the record of calls says of theirs."""
        # Deferred: most installations need none of it.
        from remit.data.wording import DataWording  # noqa: PLC0415 - see above

        return DataWording()

    @cached_property
    def seal(self) -> "UrlSeal":
        """Encrypts their URLs."""
        # Deferred: most installations need none of it.
        from remit.data.sealing import UrlSeal  # noqa: PLC0415 - see above

        return UrlSeal(self._settings.master_key)

    @cached_property
    def premises(self) -> "Premises":
        """What no datasource may be."""
        # Deferred: most installations need none of it.
        from remit.data.places import Premises  # noqa: PLC0415 - see above

        settings = self._settings
        url = url_of(settings)
        return Premises(folders=(settings.state,), database_url=url)
