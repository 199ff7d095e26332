"""A Jira Cloud to test with: the part of REST v3 that the Jira server uses, with a memory.

Documents are ADF in and out, people have account ids and hidden addresses, searches go on by
`nextPageToken`. What real Jira refuses is refused: unbounded or broken JQL, documents that are
none, statuses that no transition leads to.
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from remit.testing.faulty_web import Fault, FaultyWeb, Seen, as_json, open_faulty_web
from remit.testing.jira_cloud_rules import (
    BOT,
    PEOPLE,
    Json,
    Refused,
    check_document,
    condition_of,
    is_found,
    user,
)

_FLOW: Final[Mapping[str, tuple[str, ...]]] = {
    "To Do": ("In Progress", "Done"),
    "In Progress": ("To Do", "In Review", "Done"),
    "In Review": ("In Progress", "Done"),
    "Done": ("To Do",),
}
_CATEGORIES: Final = {"To Do": "To Do", "Done": "Done"}
_STATUS_IDS: Final = {name: str(10_000 + number) for number, name in enumerate(_FLOW)}
_TYPES: Final = ("Task", "Bug", "Story", "Epic", "Sub-task")
_PRIORITIES: Final = ("Highest", "High", "Medium", "Low", "Lowest")
_RESOLUTIONS: Final = ("Done", "Won't Do", "Duplicate")
_STORY_POINTS: Final = "customfield_10016"
_SPRINT: Final = "customfield_10020"
_TEAM: Final = "customfield_10030"
_KNOWN: Final = {
    "project", "issuetype", "summary", "description", "priority", "labels", "assignee", "parent",
    "duedate", _STORY_POINTS, _SPRINT, _TEAM,
}  # fmt: skip


@dataclass(slots=True)
class _Ticket:
    key: str
    fields: Json
    properties: Json
    comments: list[Json] = field(default_factory=list[Json])


class JiraCloud:
    """The site.

    Attributes:
        sprints: By id, each with the keys of its tickets as `tickets`.
    """

    def __init__(self) -> None:
        self._tickets: dict[str, _Ticket] = {}
        self._ids = count(10_001)
        self._moments = count()
        self._comment_properties: dict[str, Json] = {}
        self.sprints: dict[int, Json] = {
            7: _sprint(7, "Sprint 7", "closed"),
            8: _sprint(8, "Sprint 8", "active"),
            9: _sprint(9, "Sprint 9", "future"),
        }
        self._boards = [
            {"id": 1, "name": "SHOP board", "type": "scrum", "location": {"projectKey": "SHOP"}},
            {"id": 2, "name": "Support", "type": "kanban", "location": {"projectKey": "SHOP"}},
        ]

    def answer(self, seen: Seen) -> Fault:
        """Answer a request."""
        parts = urlsplit(seen.target)
        query: Json = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = [unquote(part) for part in parts.path.strip("/").split("/")]
        body: Json = json.loads(seen.body) if seen.body else {}
        if not seen.headers.get("authorization", "").startswith("Basic "):
            return as_json({"errorMessages": ["Client must be authenticated"]}, 401)
        try:
            return self._route(seen.method, path, query, body)
        except Refused as refused:
            return refused.answer

    def _route(self, method: str, path: list[str], query: Json, body: Json) -> Fault:
        match [method, *path]:
            case ["GET", "rest", "api", "2" | "3", "serverInfo"]:
                return as_json(
                    {
                        "deploymentType": "Cloud",
                        "version": "1001.0.0",
                        "versionNumbers": [1001, 0, 0],
                    }
                )
            case [_, "rest", "api", "3", "issue", *rest]:
                return self._issues(method, rest, query, body)
            case ["GET", "rest", "api", "3", "search", "jql"]:
                return as_json(self._search(query))
            case ["GET", "rest", "api", "3", *rest]:
                return as_json(self._read(rest, query))
            case ["GET", "rest", "agile", "1.0", *rest]:
                return as_json(self._agile(rest, query))
            case _:
                raise Refused(404, "Not found")

    def _read(self, path: list[str], query: Json) -> object:
        match path:
            case ["field"]:
                return _FIELDS
            case ["myself"]:
                return user(BOT)
            case ["priority"]:
                return [{"name": name} for name in _PRIORITIES]
            case ["project", "SHOP"]:
                return {"key": "SHOP", "issueTypes": [{"name": name} for name in _TYPES]}
            case ["user", "search"]:
                return [user(one) for one in PEOPLE if is_found(one, query)]
            case ["comment", identity, "properties", key]:
                return _property(self._comment_properties.get(identity, {}), key)
            case _:
                raise Refused(404, "Not found")

    def _issues(self, method: str, path: list[str], query: Json, body: Json) -> Fault:
        if not path:
            return as_json(self._create(body), 201)
        ticket = self._tickets.get(path[0])
        if ticket is None:
            raise Refused(404, "Issue does not exist or you do not have permission to see it.")
        if method == "GET":
            return as_json(_read_ticket(ticket, path[1:], query))
        match [method, *path[1:]]:
            case ["PUT"]:
                self._set(ticket, body["fields"])
            case ["PUT", "assignee"]:
                ticket.fields["assignee"] = _assignee(body)
            case ["POST", "comment"]:
                return as_json(self._comment(ticket, body), 201)
            case ["POST", "transitions"]:
                self._move(ticket, body)
            case _:
                raise Refused(404, "Not found")
        return Fault(status=204)

    def _create(self, body: Json) -> Json:
        fields = dict(body["fields"])
        if fields.get("project", {}).get("key") != "SHOP":
            raise Refused(400, project="valid project is required")
        if fields.get("issuetype", {}).get("name") not in _TYPES:
            raise Refused(400, issuetype="Specify a valid issue type")
        number = next(self._ids)
        ticket = _Ticket(
            key=f"SHOP-{number - 10_000}", fields=_blank(self._moment()), properties={}
        )
        self._set(ticket, fields)
        ticket.properties |= {one["key"]: one["value"] for one in body.get("properties", [])}
        self._tickets[ticket.key] = ticket
        return {"id": str(number), "key": ticket.key}

    def _set(self, ticket: _Ticket, fields: Mapping[str, Any]) -> None:
        unknown = set(fields) - _KNOWN
        if unknown:
            name = min(unknown)
            raise Refused(400, **{name: f"Field '{name}' cannot be set."})
        for name, value in fields.items():
            if name == "priority" and value["name"] not in _PRIORITIES:
                raise Refused(400, priority="The priority selected is invalid.")
            if name == "description" and value is not None:
                check_document(value)
            ticket.fields[name] = self._kept(ticket, name, value)
        ticket.fields["updated"] = self._moment()

    def _kept(self, ticket: _Ticket, name: str, value: Any) -> object:
        match name:
            case "assignee":
                return _assignee(value or {"accountId": None})
            case "parent":
                return _issue(self._tickets[value["key"]], "summary,status")
            case "customfield_10020":
                sprint = self.sprints[int(value)]
                sprint["tickets"].append(ticket.key)
                return [{key: sprint[key] for key in ("id", "name", "state")}]
            case _:
                return value

    def _comment(self, ticket: _Ticket, body: Json) -> Json:
        check_document(body["body"])
        identity = str(next(self._ids))
        comment = {
            "id": identity,
            "author": user(BOT),
            "body": body["body"],
            "created": self._moment(),
        }
        ticket.comments.append(comment)
        given = body.get("properties", [])
        self._comment_properties[identity] = {one["key"]: one["value"] for one in given}
        return comment

    def _move(self, ticket: _Ticket, body: Json) -> None:
        ways = {_transition(to)["id"]: to for to in _FLOW[ticket.fields["status"]["name"]]}
        to = ways.get(body["transition"]["id"])
        if to is None:
            raise Refused(400, "It is not a valid transition for this issue.")
        resolution = body.get("fields", {}).get("resolution")
        if to == "Done" and resolution is None:
            raise Refused(400, resolution="Resolution is required.")
        ticket.fields["status"] = _status(to)
        ticket.fields["resolution"] = resolution
        ticket.fields["updated"] = self._moment()
        if to == "Done" and "update" in body:  # no other transition has a screen
            for one in body["update"]["comment"]:
                self._comment(ticket, one["add"])

    def _search(self, query: Json) -> Json:
        found = self._found(query.get("jql", ""))
        start = int(query.get("nextPageToken", "t-0").removeprefix("t-"))
        most = int(query.get("maxResults", 50))
        page = found[start : start + most]
        answer: Json = {"issues": [_issue(one, query.get("fields", "id")) for one in page]}
        if start + most < len(found):
            answer["nextPageToken"] = f"t-{start + most}"
        return {**answer, "isLast": "nextPageToken" not in answer}

    def _found(self, jql: str) -> Sequence[_Ticket]:
        condition = re.split(r"\border by\b", jql, flags=re.IGNORECASE)[0].strip()
        if not condition:
            raise Refused(400, "Unbounded JQL queries are not allowed here.")
        tests = [condition_of(one.strip()) for one in re.split(r"\bAND\b", condition)]
        found = [one for one in self._tickets.values() if all(test(one.fields) for test in tests)]
        return sorted(found, key=lambda one: one.fields["updated"], reverse=True)

    def _agile(self, path: list[str], query: Json) -> object:
        match path:
            case ["board"]:
                name, kind = query.get("name", "").lower(), query.get("type")
                found = [
                    one
                    for one in self._boards
                    if name in str(one["name"]).lower() and kind in (None, one["type"])
                ]
                return _values(found)
            case ["board", "1"]:
                return self._boards[0]
            case ["board", "1", "sprint"]:
                state = query.get("state")
                sprints = self.sprints.values()
                return _values([one for one in sprints if state in (None, one["state"])])
            case ["board", _, "sprint"]:
                raise Refused(400, "The board does not support sprints")
            case ["sprint", number] if int(number) in self.sprints:
                return self.sprints[int(number)]
            case ["sprint", number, "issue"]:
                tickets = [self._tickets[key] for key in self.sprints[int(number)]["tickets"]]
                start, most = int(query["startAt"]), int(query["maxResults"])
                page = [_issue(one, query["fields"]) for one in tickets[start : start + most]]
                return {"total": len(tickets), "issues": page}
            case _:
                raise Refused(404, "Not found")

    def _moment(self) -> str:
        minutes, seconds = divmod(next(self._moments), 60)
        return f"2026-11-28T{10 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}.000+0000"


@contextmanager
def open_jira_cloud(cloud: JiraCloud | None = None) -> Generator[FaultyWeb]:
    """Give a site that is listening, where things can be told to go wrong."""
    with open_faulty_web((cloud or JiraCloud()).answer) as web:
        yield web


def _assignee(body: Json) -> Json | None:
    account = body["accountId"]
    if account is None:
        return None
    found = next((one for one in PEOPLE if one.account == account), None)
    if found is None or not found.active:
        raise Refused(400, assignee=f"User '{account}' cannot be assigned issues.")
    return user(found)


def _blank(moment: str) -> Json:
    empty: Json = dict.fromkeys(
        ("description", "assignee", "priority", "resolution", "parent", "duedate")
    )
    made = {"created": moment, "updated": moment, "reporter": user(BOT)}
    return {
        **empty,
        **made,
        "status": _status("To Do"),
        "labels": [],
        "priority": {"name": "Medium"},
    }


def _status(name: str) -> Json:
    category = {"name": _CATEGORIES.get(name, "In Progress")}
    return {"id": _STATUS_IDS[name], "name": name, "statusCategory": category}


def _transition(to: str) -> Json:
    allowed = [{"name": name} for name in _RESOLUTIONS]
    screen = {
        "resolution": {"required": True, "name": "Resolution", "allowedValues": allowed},
        "comment": {"required": False, "name": "Comment"},
    }
    identity = str(int(_STATUS_IDS[to]) - 9_989)
    fields = screen if to == "Done" else {}
    return {"id": identity, "name": f"Move to {to}", "to": _status(to), "fields": fields}


def _issue(ticket: _Ticket, names: str) -> Json:
    wanted = set(names.split(","))
    everything = "*all" in wanted
    fields = {name: value for name, value in ticket.fields.items() if everything or name in wanted}
    return {"id": ticket.key.partition("-")[2], "key": ticket.key, "fields": fields}


def _read_ticket(ticket: _Ticket, path: list[str], query: Json) -> object:
    match path:
        case []:
            return _issue(ticket, query.get("fields", "*all"))
        case ["properties", key]:
            return _property(ticket.properties, key)
        case ["comment"]:
            newest = list(reversed(ticket.comments))[: int(query.get("maxResults", 50))]
            return {"startAt": 0, "total": len(ticket.comments), "comments": newest}
        case ["transitions"]:
            ways = _FLOW[ticket.fields["status"]["name"]]
            return {"transitions": [_transition(to) for to in ways]}
        case _:
            raise Refused(404, "Not found")


def _property(properties: Json, key: str) -> Json:
    if key not in properties:
        raise Refused(404, f"The property {key} does not exist.")
    return {"key": key, "value": properties[key]}


def _values(found: Sequence[object]) -> Json:
    return {"startAt": 0, "total": len(found), "isLast": True, "values": list(found)}


def _sprint(number: int, name: str, state: str) -> Json:
    dates = {"startDate": "2026-11-16T09:00:00.000Z", "endDate": "2026-11-30T09:00:00.000Z"}
    return {"id": number, "name": name, "state": state, **dates, "originBoardId": 1, "tickets": []}


def _named_field(identity: str, name: str, kind: str, **schema: str) -> Json:
    return {"id": identity, "name": name, "schema": {"type": kind, **schema}}


_FIELDS: Final = [
    _named_field("summary", "Summary", "string"),
    _named_field("description", "Description", "string"),
    _named_field("duedate", "Due date", "date"),
    _named_field("labels", "Labels", "array", items="string"),
    _named_field(_STORY_POINTS, "Story point estimate", "number"),
    _named_field(_SPRINT, "Sprint", "array", custom="com.pyxis.greenhopper.jira:gh-sprint"),
    _named_field(_TEAM, "Team", "option"),
    _named_field("customfield_10031", "Team", "option"),
]
