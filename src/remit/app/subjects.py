"""Who can be a SUBJECT of an open installation: for the commands, and for programs."""

from datetime import UTC, datetime

from remit.admin.subjects import Subjects
from remit.app.installation import Installation, State
from remit.storage.agents import Agents
from remit.storage.keys import Keys
from remit.storage.users import Users


def subjects_of(installation: Installation) -> Subjects:
    """Return what finds subjects of the installation's tenant, as they stand now."""
    return Subjects(
        tenant=installation.tenant.name,
        roles=installation.policy.declaration.roles,
        keys=installation.keys,
        agents=installation.agents,
        users=installation.users,
        now=datetime.now(UTC),
    )


def subjects_in(state: State) -> Subjects:
    """Return the same of a database alone; roles, which are declared, are not among them."""
    return Subjects(
        tenant=state.tenant.name,
        roles=(),
        keys=Keys(state.database),
        agents=Agents(state.database),
        users=Users(state.database),
        now=datetime.now(UTC),
    )
