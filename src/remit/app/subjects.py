"""Who can be a SUBJECT of an open installation: for the commands, and for programs."""

from datetime import UTC, datetime

from remit.admin.subjects import Subjects
from remit.app.installation import Installation


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
