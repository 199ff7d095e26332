"""One table from the error tree to problem documents (RFC 9457)."""

from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, cast

import msgspec
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from remit.calls.redact import redacted_text
from remit.doors.api.data_failures import status_of
from remit.doors.api.envelope import refusal_members
from remit.doors.asgi import PROBLEM, HttpRefusal
from remit.errors import (
    AuditUnavailable,
    BadCall,
    Conflict,
    DataFailure,
    DeclarationError,
    NotFound,
    Outdated,
    Refused,
    RemitError,
    StartupError,
    Unauthenticated,
    UpstreamError,
    UpstreamTimeout,
)

STATUSES: Final[Mapping[type[RemitError], int]] = {
    Unauthenticated: 401,
    Refused: 403,
    NotFound: 404,
    Outdated: 412,
    Conflict: 409,
    BadCall: 422,
    DeclarationError: 422,
    UpstreamTimeout: 504,
    UpstreamError: 502,
    AuditUnavailable: 503,
    StartupError: 503,
}
"""The nearest ancestor of an error counts; what is not here is our own fault."""

RETRY_AFTER: Final = b"2"
"""Seconds after which a store that is away may be back."""

MOST_COMPLAINTS: Final = 50
"""Entries of `errors` in one document."""


class Complaint(BaseModel):
    """One thing that is wrong with a request or with a declaration."""

    model_config = ConfigDict(extra="forbid")

    where: str = Field(description="Such as `body.expires`, or a path into the declaration.")
    message: str
    remedy: str = ""


class ProblemDocument(BaseModel):
    """Why a request was refused, or failed."""

    type: str = "about:blank"
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="One or more lines for people.")
    code: str = Field(description="Stable word of the error tree, such as RESOURCE_NOT_FOUND.")
    request_id: str = Field(default="", description="Finds the attempt in the record.")
    errors: list[Complaint] = Field(default=[], description="Everything that does not fit.")


def problem_of(error: RemitError) -> tuple[ProblemDocument, list[tuple[bytes, bytes]]]:
    """Return what an error is to HTTP, and the headers that go with it."""
    if isinstance(error, HttpRefusal):
        return _document(error.status, str(error), code=_code(error.status)), list(error.headers)
    if isinstance(error, DataFailure):
        status = status_of(error)
    else:
        status = next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)
    headers = {
        401: [(b"www-authenticate", b"Bearer")],
        403: [(b"www-authenticate", b'Bearer error="insufficient_scope"')],
        503: [(b"retry-after", RETRY_AFTER)],
    }.get(status, [])
    return _document(status, _shown(error), code=error.code, errors=_complaints(error)), headers


def respond(error: RemitError, path: str, request_id: str = "") -> Response:
    """Return the answer to a request of *path* that ended with *error*."""
    document, headers = problem_of(error)
    document.request_id = request_id
    response = _answer(document, path, error)
    for name, value in headers:
        response.headers[name.decode()] = value.decode()
    return response


async def on_remit_error(request: Request, error: Exception) -> Response:
    """Answer what a route raised on purpose."""
    raised, scope = cast("RemitError", error), request.scope
    return respond(raised, scope["path"], scope.get("remit.request_id", ""))


def respond_to_http(error: HTTPException, path: str, allowed: Collection[str]) -> Response:
    """Answer what the framework refuses: no such path, no such method, a body that is no JSON.

    Args:
        error: What it raised.
        path: What was asked for.
        allowed: The methods that the path takes.
    """
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allow = ", ".join(sorted(allowed))
        refusal = HttpRefusal(405, f"this path takes {allow}", [(b"allow", allow.encode())])
    elif error.status_code == HTTPStatus.NOT_FOUND:
        refusal = HttpRefusal(
            404, "there is nothing at this path; /api/openapi.json lists what there is"
        )
    else:
        refusal = HttpRefusal(error.status_code, str(error.detail))
    return respond(refusal, path)


async def on_invalid_request(request: Request, error: Exception) -> Response:
    """Answer parameters and bodies that do not fit what the route declares."""
    raised = cast("Sequence[Mapping[str, Any]]", cast("RequestValidationError", error).errors())
    complaints = [
        Complaint(where=".".join(map(str, one["loc"])), message=_in_words(one))
        for one in raised[:MOST_COMPLAINTS]
    ]
    detail = f"{_name_of(raised[0]['loc'])}: {complaints[0].message}"
    document = _document(422, detail, code=BadCall.code, errors=complaints)
    return _answer(document, request.scope["path"])


async def on_fault(request: Request, _error: Exception) -> Response:
    """Answer a fault of our own, whose traceback the edge of the door logs."""
    fault = HttpRefusal(500, "an internal error; the log says more")
    return respond(fault, request.scope["path"])


def encoded(error: RemitError, path: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    """Return status, body and headers, for the edge of the door that uses no framework."""
    document, headers = problem_of(error)
    return document.status, _encoded(document, path, error), headers


def _name_of(place: Sequence[str | int]) -> str:
    """Return a field's own name, without whether it is of the body, the query or the path."""
    named = len(place) > 1 and isinstance(place[1], str)
    return ".".join(map(str, place[1:] if named else place))


def _in_words(error: Mapping[str, Any]) -> str:
    """Return what Pydantic says of a field, in words for whoever filled it in."""
    kind, bounds = error["type"], cast("Mapping[str, Any]", error.get("ctx") or {})
    match kind:
        case "missing":
            return "is missing; give it"
        case "extra_forbidden":
            return "is no field that is known here; leave it out"
        case "string_too_short" | "too_short":
            least = int(bounds["min_length"])
            return "must not be empty" if least == 1 else f"must have at least {least} {_of(kind)}"
        case "string_too_long" | "too_long":
            return f"must have at most {bounds['max_length']} {_of(kind)}"
        case _:
            message = str(error["msg"])
            said = message.removeprefix("Input should be ")
            return message if said == message else f"must be {said}"


def _of(kind: str) -> str:
    return "characters" if kind.startswith("string") else "entries"


def _answer(document: ProblemDocument, path: str, error: RemitError | None = None) -> Response:
    return Response(
        _encoded(document, path, error),
        status_code=document.status,
        media_type=PROBLEM.decode(),
    )


def _encoded(document: ProblemDocument, path: str, error: RemitError | None) -> bytes:
    more = refusal_members(path, document.status, document.detail, error)
    return msgspec.json.encode(document.model_dump() | more)


def _document(
    status: int, detail: str, *, code: str, errors: Sequence[Complaint] = ()
) -> ProblemDocument:
    return ProblemDocument(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        errors=list(errors),
    )


def _code(status: int) -> str:
    known = {401: Unauthenticated, 403: Refused, 404: NotFound, 409: Conflict, 503: StartupError}
    if status in known:
        return known[status].code
    return RemitError.code if status >= HTTPStatus.INTERNAL_SERVER_ERROR else BadCall.code


def _shown(error: RemitError) -> str:
    """Keep what only operators may know, such as where the database is, out of answers."""
    if isinstance(error, StartupError | AuditUnavailable):
        return "a store is away, so nothing was done; the log says more"
    return redacted_text(str(error))


def _complaints(error: RemitError) -> list[Complaint]:
    if not isinstance(error, DeclarationError):
        return []
    return [
        Complaint(where=problem.code, message=problem.message, remedy=problem.remedy)
        for problem in error.problems[:MOST_COMPLAINTS]
    ]
