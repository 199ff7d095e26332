"""create_pull_request, update_pull_request and merge_pull_request, none of them done twice."""

from typing import Final

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.github.complaints import complaint
from remit.servers.github.doubles import LOST, is_recent
from remit.servers.github.fields import is_open_or_closed
from remit.servers.github.pages import next_page
from remit.servers.github.pulls import shown_pull, shown_review
from remit.servers.github.repository import Repository
from remit.servers.notes import Notes
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import Fields, fields_of, find_text, flag, items_of, number, text

_MOST_PAGES: Final = 10
"""Of reviews that are looked through for one whose answer was lost."""

_CHANGES: Final = ("title", "body", "state", "base")

_OBSTACLES: Final = {
    "dirty": "it has conflicts with its base",
    "blocked": "the base's protection wants reviews or checks that are missing",
    "behind": "its head must be brought up to date with the base first",
    "unstable": "checks have failed or are still running",
    "draft": "it is a draft",
}

_STATES: Final = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}


async def create_pull_request(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Open a pull request, unless one is open for the same branches.

    Raises:
        RestFault: GitHub does not open it.
    """
    head, base = arguments.text("head"), arguments.text("base")
    notes = Notes()
    there = await _open_pull(place, head, base)
    if there is not None:
        notes.add("one is open for these branches already, left as it is: update_pull_request")
        return {**shown_pull(there, notes), "created": False, "notes": notes.said()}
    sent = {
        "title": arguments.text("title"),
        "head": head,
        "base": base,
        "body": arguments.text("body"),
        "draft": arguments.flag("draft"),
    }
    made = await place.change_once(
        lambda: place.change("POST", "pulls", body=sent),
        lambda: _open_pull(place, head, base),
        is_open_or_closed,
        after_refusal=True,
    )
    if made.how == "lost":
        notes.add(LOST)
    created = made.how != "refused"
    return {**shown_pull(made.fields, notes), "created": created, "notes": notes.said()}


async def _open_pull(place: Repository, head: str, base: str) -> Fields | None:
    """Return the open pull request from *head* to *base*; GitHub allows one at most."""
    source = head if ":" in head else f"{place.owner}:{head}"
    query = {"state": "open", "head": source, "base": base, "per_page": 100}
    # GitHub drops a filter that it cannot read, and lists every pull request.
    for pull in items_of((await place.get("pulls", query=query)).data):
        label = text(pull, "head", "label") or f"{place.owner}:{text(pull, 'head', 'ref')}"
        if (label.casefold(), text(pull, "base", "ref")) == (source.casefold(), base):
            return fields_of((await place.get("pulls", number(pull, "number"))).data)
    return None


async def update_pull_request(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Change fields of a pull request, ask for reviews, give one: in this order.

    Raises:
        ToolError: Nothing is asked for; or a step failed, and it says what was done before.
        RestFault: The first step failed.
    """
    pull_number = arguments.number("pull_number", 0)
    place.look_at(pull_number)
    review = arguments.mapping("review")
    event, said = text(review, "event"), text(review, "body")
    if event in {"REQUEST_CHANGES", "COMMENT"} and not said:
        raise ToolError(f"a review that says {event} needs a body")
    fields = {name: arguments.find_text(name) for name in _CHANGES if arguments.has(name)}
    reviewers = list(arguments.texts("reviewers"))
    if not (fields or reviewers or event):
        raise ToolError(
            "nothing to change: give one of title, body, state, base, reviewers, review"
        )

    notes, changed, given = Notes(), list[str](), None
    try:
        if fields:
            await place.change("PATCH", "pulls", pull_number, body=fields, idempotent=True)
            changed += fields
        if reviewers:
            await place.change(
                "POST", "pulls", pull_number, "requested_reviewers", body={"reviewers": reviewers}
            )
            changed.append("reviewers")
        if event:
            given = await _give_review(place, pull_number, event, said, notes)
            changed.append("review")
        pull = fields_of((await place.get("pulls", pull_number)).data)
    except RestFault as fault:
        if not changed:
            raise
        done = f"done: {', '.join(changed)}; then this failed"
        raise ToolError(f"{done}: {complaint(fault, place.about)}") from fault
    return {
        **shown_pull(pull, notes),
        "changed": changed,
        "review": None if given is None else shown_review(given, notes),
        "notes": notes.said(),
    }


async def _give_review(
    place: Repository, pull_number: int, event: str, said: str, notes: Notes
) -> Fields:
    async def look() -> Fields | None:
        page: int | None = 1
        while page is not None and page <= _MOST_PAGES:  # the newest are on the last one
            query = {"per_page": 100, "page": page}
            reply = await place.get("pulls", pull_number, "reviews", query=query)
            for there in items_of(reply.data):
                same = (text(there, "state"), text(there, "body")) == (_STATES[event], said)
                if same and is_recent(there, "submitted_at"):
                    return there
            page = next_page(reply, page)
        return None

    sent = {"event": event, "body": said}
    made = await place.change_once(
        lambda: place.change("POST", "pulls", pull_number, "reviews", body=sent),
        look,
        lambda there: number(there, "id") > 0,
    )
    if made.how == "lost":
        notes.add(LOST)
    return made.fields


async def merge_pull_request(place: Repository, arguments: Arguments) -> dict[str, object]:
    """Merge a pull request, unless it is merged already.

    Raises:
        ToolError: It cannot be merged, with the reason that GitHub's state of it gives.
        RestFault: GitHub does not merge it.
    """
    pull_number = arguments.number("pull_number", 0)
    place.look_at(pull_number)
    sent: dict[str, object] = {"merge_method": arguments.text("merge_method", "merge")}
    for name in ("commit_title", "commit_message", "sha"):
        if arguments.has(name):
            sent[name] = arguments.text(name)
    seen: Fields = {}

    async def look() -> Fields | None:
        nonlocal seen
        seen = fields_of((await place.get("pulls", pull_number)).data)
        return seen if flag(seen, "merged") else None

    try:
        made = await place.change_once(
            lambda: place.change("PUT", "pulls", pull_number, "merge", body=sent),
            look,
            lambda there: flag(there, "merged"),
            after_refusal=True,
        )
    except RestFault as fault:
        why = _obstacle(seen)
        if not why or fault.is_outcome_unknown:
            raise
        raise ToolError(f"{complaint(fault, place.about)}; {why}") from fault
    found = made.how != "answered"
    notes = {"answered": [], "lost": [LOST], "refused": ["it was merged before; nothing was done"]}
    return {
        "number": pull_number,
        "merged": True,
        "already_merged": made.how == "refused",
        "commit": find_text(made.fields, "merge_commit_sha" if found else "sha"),
        "message": "" if found else text(made.fields, "message"),
        "notes": notes[made.how],
    }


def _obstacle(pull: Fields) -> str:
    if text(pull, "state") == "closed":
        return "it is closed without having been merged"
    if flag(pull, "draft"):
        return _OBSTACLES["draft"]
    return _OBSTACLES.get(text(pull, "mergeable_state"), "")
