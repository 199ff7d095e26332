"""Saying that the file is not what is in force, beside whatever a command answers (R18)."""

from remit.admin.declaration import Loaded
from remit.admin.revisions import how_to_apply, standing_of
from remit.app.installation import Installation
from remit.cli.lines import say


async def note_file(installation: Installation, file: Loaded | None) -> None:
    """Print a line on standard error if somebody edited *file* since it was last applied.

    It says by which number the command judges the file, or how to make it count where the revision
    in force does. Of a file that was only overtaken, by the console or the API, there is nothing to
    say: what they wrote counts, and nobody wants to undo it in passing.

    Args:
        installation: What counts.
        file: What the file says; None where it is nobody's declaration.
    """
    if file is None:
        return
    standing = await standing_of(
        installation.revisions, installation.tenant.name, file.declaration.document
    )
    if standing.latest is None or standing.is_latest or standing.was_applied:
        return
    judged = installation.policy.revision
    then = how_to_apply(file.file, standing)
    if judged > standing.number:
        then = f"this is what it would do as revision {judged}"
    say(f"note: {file.file} is not what is in force (revision {standing.number}): {then}", err=True)
