"""Questions about the data that nobody has answered yet, and the answers."""

from remit.client.in_project import at, changing, reading, sending
from remit.client.ontology import Stated
from remit.client.operations import Operation, Page


class Question(Stated, frozen=True, kw_only=True, rename="camel"):
    """A question.

    Attributes:
        priority: 1 (high) to 5.
        tables: What it is about, each as `schema.table`.
        columns: What it is about, each as `schema.table.column`.
        status: `pending`, `answered`, `skipped`, `escalated`, `dismissed` or `deleted`.
    """

    id: str
    text: str
    reasoning: str
    category: str
    priority: int
    is_required: bool
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    status: str
    status_reason: str | None
    answer: str | None


def list_all(
    tenant: str,
    datasource: str,
    *,
    status: str | None = None,
    category: str | None = None,
    priority: int | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Operation[Page[Question]]:
    """Questions, most urgent first; pending ones, unless *status* says otherwise."""
    return reading(
        "questions.list",
        _at(tenant, datasource),
        Page[Question],
        status=status,
        category=category,
        priority=priority,
        limit=limit,
        cursor=cursor,
    )


def get(tenant: str, datasource: str, question: str) -> Operation[Question]:
    """One question."""
    return reading("questions.get", _at(tenant, datasource, question), Question)


def resolve(
    tenant: str, datasource: str, question: str, notes: str | None = None, *, reason: str = ""
) -> Operation[Question]:
    """Answer a question."""
    path = _at(tenant, datasource, question, "resolve")
    body = {"notes": notes}
    return changing("questions.resolve", "POST", path, Question, body=body, reason=reason)


def skip(tenant: str, datasource: str, question: str, why: str) -> Operation[Question]:
    """Put a question off."""
    return _aside(tenant, datasource, question, why, "skip")


def escalate(tenant: str, datasource: str, question: str, why: str) -> Operation[Question]:
    """Hand a question on to somebody who knows."""
    return _aside(tenant, datasource, question, why, "escalate")


def dismiss(tenant: str, datasource: str, question: str, why: str) -> Operation[Question]:
    """Drop a question that is not worth an answer."""
    return _aside(tenant, datasource, question, why, "dismiss")


def _aside(tenant: str, datasource: str, question: str, why: str, verb: str) -> Operation[Question]:
    path = _at(tenant, datasource, question, verb)
    return sending(f"questions.{verb}", path, Question, {"reason": why})


def _at(tenant: str, datasource: str, *parts: str) -> str:
    return at(tenant, "datasources", datasource, "ontology", "questions", *parts)
