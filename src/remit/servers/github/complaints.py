"""What went wrong at GitHub: what it said, which scope is missing, what to do next."""

from http import HTTPStatus
from typing import Final

from remit.servers.errors import ToolError
from remit.servers.rest.faults import RestFault

_ADVICE: Final = {
    HTTPStatus.UNAUTHORIZED: "GITHUB_TOKEN is wrong, expired or revoked; whoever runs this server"
    " has to give it another",
    HTTPStatus.NOT_FOUND: "it does not exist, or the token may not see it",
    HTTPStatus.CONFLICT: "read it again and decide anew",
    HTTPStatus.GONE: "it is switched off in this repository, or was deleted",
    HTTPStatus.UNPROCESSABLE_ENTITY: "correct what it names and call again",
}


def complaint(fault: RestFault, what: str) -> ToolError:
    """Return *fault* as a tool tells it.

    Args:
        fault: What happened.
        what: About what, such as "ada/orders#7".
    """
    parts = [f"{what}: {fault}" if what else str(fault)]
    if fault.limited:
        parts.append("a rate limit is no reason to give up, nor to ask at once again")
    else:
        parts += _missing(fault)
        request = fault.headers.get("x-github-request-id", "")
        if request and (fault.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR:
            parts.append(f"GitHub knows it as request {request}")
        if fault.status in _ADVICE:
            parts.append(_ADVICE[HTTPStatus(fault.status)])
    return ToolError("; ".join(parts))


def _missing(fault: RestFault) -> list[str]:
    """Say which scope or permission the token lacks, as far as GitHub tells."""
    if fault.status not in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
        return []
    said: list[str] = []
    if fault.headers.get("x-github-sso", "").startswith("required"):
        said.append("the organisation wants the token to be authorised for its single sign-on")
    has = _listed(fault.headers.get("x-oauth-scopes", ""))
    # Any one of them is enough.
    accepted = _listed(fault.headers.get("x-accepted-oauth-scopes", ""))
    if accepted and not set(accepted) & set(has):
        said.append(
            f"the token needs the scope {' or '.join(accepted)}, and has {', '.join(has) or 'none'}"
        )
    permissions = fault.headers.get("x-accepted-github-permissions", "").strip()
    if permissions:
        said.append(f"a fine-grained token needs the permission {permissions}")
    return said


def _listed(value: str) -> list[str]:
    return [scope.strip() for scope in value.split(",") if scope.strip()]
