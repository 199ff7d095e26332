"""What a Jira Cloud of a test knows and refuses: people, JQL, documents, as far as tests need."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.testing.faulty_web import as_json

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A user.

    Attributes:
        email: As the person knows it.
        shows_email: Whether Jira shows it to others.
    """

    account: str
    name: str
    email: str
    shows_email: bool = True
    active: bool = True


ADA: Final = Person(account="5b10ac8d82e05b22cc7d4ef5", name="Ada Lovelace", email="ada@x.test")
GRACE: Final = Person(
    account="5b10a2844c20165700ede21g", name="Grace Hopper", email="grace@x.test", shows_email=False
)
GRACE_B: Final = Person(account="712020:0e52-4c", name="Grace Brewster", email="brewster@x.test")
GONE: Final = Person(account="5b10gone", name="Charles Babbage", email="cb@x.test", active=False)
BOT: Final = Person(account="557058:bot0-4a1f", name="remit", email="bot@x.test")
PEOPLE: Final = (ADA, GRACE, GRACE_B, GONE, BOT)


class Refused(Exception):
    """What the site does not do, with its answer.

    Args:
        status: Of HTTP.
        messages: Of Jira.
        errors: Of Jira, by field.
    """

    def __init__(self, status: int, *messages: str, **errors: str) -> None:
        super().__init__(*messages)
        self.answer = as_json({"errorMessages": list(messages), "errors": errors}, status)


def user(person: Person) -> Json:
    """Return a user as the API shows it."""
    shown: Json = {
        "accountId": person.account,
        "displayName": person.name,
        "active": person.active,
        "accountType": "atlassian",
    }
    return shown | ({"emailAddress": person.email} if person.shows_email else {})


def is_found(person: Person, query: Json) -> bool:
    """Whether Jira's search finds a person: by id, or by how a name or the address begins."""
    if "accountId" in query:
        return person.account == query["accountId"]
    wanted = query.get("query", "").lower()
    words = [person.email, person.name, *person.name.split()]
    return any(word.lower().startswith(wanted) for word in words)


def condition_of(clause: str) -> Callable[[Json], bool]:
    """Return what a clause of JQL asks of a ticket's fields, as far as the tests need it.

    Raises:
        Refused: Real Jira would not take it either, or the tests do not need it.
    """
    bare = clause[1:-1] if clause.startswith("(") else clause
    found = re.fullmatch(r"(\w+)\s*(=|~|>=|is)\s*(.+)", bare, re.DOTALL)
    if found is None:
        raise Refused(400, f"Error in the JQL Query: Expecting operator near '{clause}'.")
    name, operator, value = found.groups()
    match (name.lower(), operator):
        case ("project", "="):
            if _plain(value) != "SHOP":
                problem = f"The value '{_plain(value)}' does not exist for the field 'project'."
                raise Refused(400, problem)
            return lambda _: True
        case ("created", ">="):
            return lambda _: True
        case ("status", "="):
            return lambda one: one["status"]["name"].lower() == _plain(value).lower()
        case ("labels", "="):
            return lambda one: _plain(value) in one["labels"]
        case ("assignee", "is"):
            return lambda one: one["assignee"] is None
        case ("assignee", "="):
            account = BOT.account if value == "currentUser()" else _plain(value)
            return lambda one: _account_of(one) == account
        case ("text", "~"):
            words = re.sub(r"\\(.)", r"\1", _plain(value)).lower()
            return lambda one: words in _said(one).lower()
        case _:
            problem = f"Field '{name}' does not exist or you do not have permission to view it."
            raise Refused(400, problem)


def _account_of(fields: Json) -> str | None:
    assignee: Json | None = fields["assignee"]
    return assignee["accountId"] if assignee else None


def _said(value: object) -> str:
    """Return every text in *value*."""
    if isinstance(value, dict):
        return "\n".join(map(_said, cast("Json", value).values()))
    if isinstance(value, list):
        return "\n".join(map(_said, cast("list[object]", value)))
    return value if isinstance(value, str) else ""


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value.strip('"'))


def check_document(value: object) -> None:
    """Refuse what real Jira refuses: text that is no document, or nested as ADF does not allow."""
    if not isinstance(value, dict):
        raise Refused(400, description="Operation value must be an Atlassian Document")
    document = cast("Json", value)
    if document["type"] != "doc" or document["version"] != 1:
        raise Refused(400, comment="INVALID_INPUT")
    for node in document["content"]:
        _check_node(node)


_ALLOWED_IN: Final[Mapping[str, frozenset[str]]] = {
    "paragraph": frozenset({"text", "hardBreak", "mention"}),
    "heading": frozenset({"text", "hardBreak", "mention"}),
    "taskItem": frozenset({"text", "hardBreak", "mention"}),
    "codeBlock": frozenset({"text"}),
    "listItem": frozenset({"paragraph", "bulletList", "orderedList", "codeBlock", "taskList"}),
    "blockquote": frozenset({"paragraph", "bulletList", "orderedList", "codeBlock"}),
    "bulletList": frozenset({"listItem"}),
    "orderedList": frozenset({"listItem"}),
    "taskList": frozenset({"taskItem"}),
    "table": frozenset({"tableRow"}),
    "tableRow": frozenset({"tableHeader", "tableCell"}),
    "tableHeader": frozenset({"paragraph"}),
    "tableCell": frozenset({"paragraph"}),
    "panel": frozenset(
        {"paragraph", "heading", "bulletList", "orderedList", "codeBlock", "taskList", "rule"}
    ),
}


def _check_node(node: Json) -> None:
    if node["type"] == "text" and not node["text"]:
        raise Refused(400, comment="INVALID_INPUT")
    for child in node.get("content", []):
        if child["type"] not in _ALLOWED_IN.get(node["type"], frozenset()):
            raise Refused(400, comment="INVALID_INPUT")
        _check_node(child)
