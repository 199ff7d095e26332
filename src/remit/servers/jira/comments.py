"""add_comment, and the comment that may come with a change of status."""

from remit.servers.arguments import Arguments
from remit.servers.jira.once import EARLIER, LOST, Mark, make_once
from remit.servers.jira.shown import comment_of
from remit.servers.jira.site import Jira
from remit.servers.notes import Notes
from remit.servers.rest.fields import Fields


async def add_comment(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Comment on a ticket, unless a call with the same key has.

    Raises:
        RestFault: Jira does not take it.
    """
    notes = Notes()
    key, own = arguments.text("ticket_key"), arguments.find_text("idempotency_key")
    comment, created = await post_comment(jira, key, arguments.text("body"), notes, own=own)
    return {
        "key": key,
        "url": jira.url(key),
        "comment": await comment_of(jira, comment, notes),
        "created": created,
        "notes": notes.said(),
    }


async def post_comment(
    jira: Jira, key: str, words: str, notes: Notes, *, own: str | None = None
) -> tuple[Fields, bool]:
    """Comment on the ticket *key* and return the comment, and whether it is new.

    Raises:
        RestFault: Jira does not take it, or it is not known whether it did.
        ToolError: It is not known whether Jira took it.
    """
    mark, body = Mark(own), await jira.write(words)
    there = await mark.find_comment(jira, key, body) if own else None
    if there is not None:
        notes.add(EARLIER)
        return there, False
    sent = {"body": body, "properties": mark.properties()}
    made, how = await make_once(
        jira,
        lambda: jira.send("POST", "issue", key, "comment", body=sent),
        lambda: mark.find_comment(jira, key, body),
        "id",
    )
    if how == "lost":
        notes.add(LOST)
    return made, True
