"""What `remit doctor` sees of the file against what is in force, and of the store of limits."""

import shlex

from remit.admin.declaration import load_declaration
from remit.admin.doctor_places import fine
from remit.admin.revisions import how_to_apply, standing_of
from remit.app.installation import url_of
from remit.errors import DeclarationError, StartupError, StorageUnavailable
from remit.model.health import Finding, Grade
from remit.model.principals import DEFAULT_TENANT
from remit.settings import Settings
from remit.storage.database import is_missing, open_as_it_is
from remit.storage.revisions import Revisions

_IN_MEMORY = "memory://"


async def of_file(settings: Settings) -> Finding | None:
    """Say whether the file of the tenant `default` is what is in force (R18).

    Returns:
        None where that cannot be told, which other findings say.
    """
    path = str(settings.config)
    if not settings.config.exists():
        return None
    try:
        file = load_declaration(settings.config)
    except DeclarationError:
        return Finding(
            code="file-wrong",
            about=path,
            grade=Grade.WARNING,
            message="it has errors: it cannot be applied, and a gateway does not start with it",
            remedy=f"run `remit check --config {shlex.quote(path)}`, which names each",
        )
    url = url_of(settings)
    try:
        if is_missing(url):
            return None
        async with open_as_it_is(url) as opened:
            standing = await standing_of(
                Revisions(opened), DEFAULT_TENANT, file.declaration.document
            )
    except (StorageUnavailable, StartupError):  # the database's own finding says so
        return None
    if standing.is_latest:
        return fine(path, f"is what is in force, revision {standing.number}")
    if standing.latest is None:
        return fine(path, "is not applied yet; the first start does it")
    if standing.was_applied:
        return fine(path, f"was applied, and changed since: revision {standing.number} counts")
    return Finding(
        code="file-not-in-force",
        about=path,
        grade=Grade.WARNING,
        message=f"it is not what is in force, revision {standing.number}",
        remedy=how_to_apply(path, standing),
    )


async def of_limits(settings: Settings) -> Finding | None:
    """Say whether the store in which calls are counted against limits answers.

    Returns:
        None where it is the database or a worker's memory.
    """
    url = settings.shared_url
    if not url or url == _IN_MEMORY:
        return None
    # deferred: an optional extra, and slow to import
    from remit.storage.limits_redis import open_windows  # noqa: PLC0415

    about = "store of limits"
    try:
        async with open_windows(url) as windows:
            await windows.used(())
    except (StartupError, StorageUnavailable) as error:
        return Finding(
            code="limits-away",
            about=about,
            grade=Grade.WARNING,
            message=f"{error}; until it answers each worker counts for itself",
            remedy="start it, or correct REMIT_SHARED_URL",
        )
    return fine(about, "answers")
