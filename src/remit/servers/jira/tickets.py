"""create_ticket, get_ticket, update_ticket and assign_ticket."""

from http import HTTPStatus
from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.jira.fields import EPIC_LINK
from remit.servers.jira.once import EARLIER, LOST, Mark, make_once
from remit.servers.jira.people import find_person, reference
from remit.servers.jira.shown import detailed, newest_comments
from remit.servers.jira.site import Jira
from remit.servers.jira.values import field_values
from remit.servers.notes import Notes
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import Fields, inner, listed, text

_MOST_NAMED: Final = 30


async def create_ticket(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Make a ticket, unless a call with the same key has.

    Raises:
        RestFault: Jira does not make it.
        ToolError: A person, field or type is not known.
    """
    key, notes = arguments.find_text("idempotency_key"), Notes()
    project, summary = arguments.text("project_key"), arguments.text("summary")
    mark = Mark(key)
    there = await mark.find_ticket(jira, project, summary) if key else None
    if there is not None:
        notes.add(EARLIER)
        return _made(jira, there, notes, created=False)
    fields = await _fields(jira, arguments)
    fields["project"] = {"key": project}
    fields["issuetype"] = {"name": arguments.text("issue_type", "Task")}
    if arguments.find_text("assignee"):
        fields["assignee"] = await reference(jira, arguments.text("assignee"))
    if arguments.find_text("parent"):
        fields |= await _parent(jira, arguments.text("parent"))
    body = {"fields": fields, "properties": mark.properties()}
    try:
        made, how = await make_once(
            jira,
            lambda: jira.send("POST", "issue", body=body),
            lambda: mark.find_ticket(jira, project, summary),
            "key",
        )
    except RestFault as fault:
        raise await _explained(jira, fault, project) from fault
    if how == "lost":
        notes.add(LOST)
    if key:
        mark.note_ticket(jira, project, summary, text(made, "key"))
    return _made(jira, made, notes, created=True)


async def get_ticket(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Show a ticket, with its newest comments unless they are not wanted.

    Raises:
        RestFault: Jira does not show it.
    """
    key, notes = arguments.text("ticket_key"), Notes(arguments.number("max_chars", 0))
    shown = await detailed(jira, key, notes)
    if arguments.flag("comments", default=True):
        shown |= await newest_comments(jira, key, notes)
    return {**shown, "notes": notes.said()}


async def update_ticket(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Set fields of a ticket.

    Raises:
        RestFault: Jira does not set them.
        ToolError: A field or person is not known, or nothing is to be set.
    """
    key = arguments.text("ticket_key")
    fields = await _fields(jira, arguments)
    if not fields:
        raise ToolError("nothing to change: give summary, description, priority, labels or fields")
    try:
        # The same values twice are no other than once.
        await jira.send("PUT", "issue", key, body={"fields": fields}, idempotent=True)
    except RestFault as fault:
        raise await _explained(jira, fault, key.rpartition("-")[0]) from fault
    return {"key": key, "url": jira.url(key), "changed_fields": sorted(fields)}


async def assign_ticket(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Give a ticket to somebody, or to nobody.

    Raises:
        RestFault: Jira does not.
        ToolError: The person is not known.
    """
    key, who = arguments.text("ticket_key"), arguments.find_text("assignee")
    identity = await find_person(jira, who) if who else None
    before = await _assignee(jira, key)
    body = {jira.person_key: identity}
    await jira.send("PUT", "issue", key, "assignee", body=body, idempotent=True)
    return {
        "key": key,
        "url": jira.url(key),
        "assignee": await _assignee(jira, key),
        "previous_assignee": before,
    }


async def _assignee(jira: Jira, key: str) -> dict[str, object] | None:
    issue = await jira.get("issue", key, query={"fields": "assignee"})
    return jira.person(inner(issue, "fields", "assignee"))


async def _fields(jira: Jira, arguments: Arguments) -> dict[str, object]:
    """Return the fields that create_ticket and update_ticket share, by id."""
    fields = await field_values(jira, arguments.mapping("fields"))
    if arguments.has("summary"):
        fields["summary"] = arguments.text("summary")
    if arguments.has("description"):
        fields["description"] = await jira.write(arguments.text("description"))
    if arguments.has("priority"):
        fields["priority"] = {"name": arguments.text("priority")}
    if arguments.has("labels"):
        fields["labels"] = list(arguments.texts("labels"))
    return fields


async def _parent(jira: Jira, key: str) -> dict[str, object]:
    """Return the field that makes a ticket belong to another; epics have their own before Cloud."""
    epic_link = None if jira.is_cloud else (await jira.field_table()).find_custom(EPIC_LINK)
    if epic_link is not None:
        parent = await jira.get("issue", key, query={"fields": "issuetype"})
        if text(parent, "fields", "issuetype", "name") == "Epic":
            return {epic_link.id: key}
    return {"parent": {"key": key}}


def _made(jira: Jira, issue: Fields, notes: Notes, *, created: bool) -> dict[str, object]:
    key = text(issue, "key")
    return {"key": key, "url": jira.url(key), "created": created, "notes": notes.said()}


async def _explained(jira: Jira, fault: RestFault, project: str) -> Exception:
    """Return *fault*, with the names to choose from where a type or priority was wrong."""
    if fault.status != HTTPStatus.BAD_REQUEST:
        return fault
    said = fault.said.lower()
    try:
        if "issuetype" in said or "issue type" in said:
            found = await jira.get("project", project)
            kinds = ", ".join(text(one, "name") for one in listed(found, "issueTypes"))
            return ToolError(f"{fault}; the types of {project} are: {kinds}")
        if "priority" in said:
            found = await jira.get_list("priority")
            names = ", ".join(text(one, "name") for one in found[:_MOST_NAMED])
            return ToolError(f"{fault}; the priorities are: {names}")
    except RestFault:
        return fault
    return fault
