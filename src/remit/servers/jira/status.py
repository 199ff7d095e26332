"""change_status: through the transitions that the ticket's workflow has."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.jira.comments import post_comment
from remit.servers.jira.site import Jira
from remit.servers.notes import Notes
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import Fields, find_text, inner, listed, text

_LOST: Final = "the connection broke before Jira's answer came, but the ticket has that status now"


async def change_status(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Move a ticket to a status, by the name of the status or of the transition.

    Raises:
        RestFault: Jira does not move it, or it is not known whether it did.
        ToolError: No transition leads there, or it does not take the resolution.
    """
    key, wanted, notes = arguments.text("ticket_key"), arguments.text("status"), Notes()
    before = await _state(jira, key)
    # A workflow may have a way from a status to itself; to go it would be a second change.
    if _same(text(before, "status", "name"), wanted):
        notes.add(f"it was {wanted} already")
        return await _result(jira, arguments, before, notes)
    transitions = await _transitions(jira, key)
    transition = _find(transitions, wanted)
    if transition is None:
        raise ToolError(_impossible(key, text(before, "status", "name"), wanted, transitions))
    said = await _move(jira, arguments, transition, notes)
    return await _result(jira, arguments, before, notes, said=said)


async def _move(jira: Jira, arguments: Arguments, transition: Fields, notes: Notes) -> bool:
    """Make the transition and return whether the comment went with it."""
    key, comment = arguments.text("ticket_key"), arguments.find_text("comment")
    body: dict[str, object] = {"transition": {"id": text(transition, "id")}}
    resolution = arguments.find_text("resolution")
    if resolution:
        body["fields"] = {"resolution": {"name": _resolution(transition, resolution)}}
    # Jira drops a comment without a word where the transition has no screen for it.
    with_it = comment is not None and "comment" in inner(transition, "fields")
    if comment is not None and with_it:
        body["update"] = {"comment": [{"add": {"body": await jira.write(comment)}}]}
    try:
        await jira.send("POST", "issue", key, "transitions", body=body)
    except RestFault as fault:
        if fault.status == HTTPStatus.BAD_REQUEST:
            raise ToolError(f"{fault}{_wants(transition)}") from fault
        if not fault.is_outcome_unknown or not await _is_there(jira, key, transition):
            raise
        notes.add(_LOST)
    return with_it


async def _is_there(jira: Jira, key: str, transition: Fields) -> bool:
    try:
        now = await _state(jira, key)
    except RestFault:
        return False
    return text(now, "status", "name") == text(transition, "to", "name")


async def _result(
    jira: Jira, arguments: Arguments, before: Fields, notes: Notes, *, said: bool = False
) -> dict[str, object]:
    """Add the comment, if it is still to be said, and return where the ticket is now."""
    key, comment = arguments.text("ticket_key"), arguments.find_text("comment")
    identity = None
    if comment is not None and not said:
        try:
            made, _ = await post_comment(jira, key, comment, notes)
            identity = text(made, "id")
        except (RestFault, ToolError) as fault:  # what was done is done
            notes.add(f"the comment was not added: {fault}")
    now = await _state(jira, key)
    previous, status = text(before, "status", "name"), text(now, "status", "name")
    return {
        "key": key,
        "url": jira.url(key),
        "previous_status": previous,
        "status": status,
        "changed": previous != status,
        "resolution": find_text(now, "resolution", "name"),
        "comment_id": identity,
        "notes": notes.said(),
    }


async def _state(jira: Jira, key: str) -> Fields:
    issue = await jira.get("issue", key, query={"fields": "status,resolution"})
    return inner(issue, "fields")


async def _transitions(jira: Jira, key: str) -> list[Fields]:
    query = {"expand": "transitions.fields"}
    return listed(await jira.get("issue", key, "transitions", query=query), "transitions")


def _find(transitions: Sequence[Fields], wanted: str) -> Fields | None:
    """Return the transition to that status, or of that name; the one that asks least, of several.

    A status comes first: that is what a caller sees on tickets.
    """
    for names in (("to", "name"), ("name",)):
        found = [one for one in transitions if _same(text(one, *names), wanted)]
        if found:
            return min(found, key=lambda one: len(_required(one)))
    return None


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _impossible(key: str, status: str, wanted: str, transitions: Sequence[Fields]) -> str:
    names = dict.fromkeys(text(one, "to", "name") for one in transitions)
    possible = ", ".join(repr(name) for name in names) or "none, for this account"
    return f"{key} is {status!r} and cannot become {wanted!r}; possible from there: {possible}"


def _resolution(transition: Fields, wanted: str) -> str:
    """Return the resolution as Jira spells it.

    Raises:
        ToolError: The transition does not take it; the message lists those that it takes.
    """
    field = inner(transition, "fields", "resolution")
    if not field and "fields" in transition:
        name = text(transition, "to", "name")
        raise ToolError(f"the way to {name!r} takes no resolution; leave it out")
    allowed = [text(one, "name") for one in listed(field, "allowedValues")]
    found = next((name for name in allowed if _same(name, wanted)), None)
    if allowed and found is None:
        raise ToolError(f"there is no resolution {wanted!r}; possible: {', '.join(allowed)}")
    return found or wanted


def _required(transition: Fields) -> list[str]:
    fields = inner(transition, "fields")
    return [
        text(inner(fields, name), "name") or name
        for name in fields
        if inner(fields, name).get("required") is True
        and inner(fields, name).get("hasDefaultValue") is not True
    ]


def _wants(transition: Fields) -> str:
    names = _required(transition)
    allowed = [
        text(one, "name")
        for one in listed(inner(transition, "fields", "resolution"), "allowedValues")
    ]
    told = f"; the way there asks for: {', '.join(names)}" if names else ""
    return told + (f"; resolutions: {', '.join(allowed)}" if allowed else "")
