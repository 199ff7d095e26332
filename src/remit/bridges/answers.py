"""What a model gets of a call.

Of one that came to nothing it reads what happened, and whether to try again; of others it also
sees pictures and hears sounds, where its framework has a place for them.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.client.door import NOT_MADE, state_alone
from remit.client.tools import CallResult
from remit.model.call_meta import CODE, OUTCOME, REQUEST, UNKNOWN_OUTCOME
from remit.model.conversation import PAUSES

DENIED: Final = "PERMISSION_DENIED"
"""The code of a denial, whose text says all there is to say."""

_ADVICE: Final[Mapping[str, str]] = {
    "INVALID_INPUT": "Correct the arguments and call again.",
    "LIMIT_REACHED": "Calling it sooner does not help.",
    "UPSTREAM_UNAVAILABLE": "Calling it again later may help; until then go on without it.",
    "UPSTREAM_TIMEOUT": "Calling it again later may help; until then go on without it.",
}
"""By the code of a failure that remit itself reports (rulings.md R22)."""

_UNKNOWN: Final = "Find out whether it took effect before calling it again."
_OTHERWISE: Final = "Calling it again in the same way is not likely to help."
_UNKNOWN_TOOL: Final = "Unknown tool"
_COMPLETE: Final = "complete"
_BEGUN: Final = "the call had begun when it was refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A picture or a sound of a result.

    Attributes:
        is_image: Whether it is a picture.
        mime_type: As the server gave it.
    """

    is_image: bool
    mime_type: str
    data: bytes

    @property
    def format(self) -> str:
        """What follows the slash of its type, such as `png`."""
        return self.mime_type.partition("/")[2].partition(";")[0].strip().lower()


def media_of(block: Mapping[str, Any]) -> Media | None:
    """Return the picture or sound of a block; None of another, or of one that cannot be read."""
    kind, mime_type = block.get("type"), block.get("mimeType")
    if kind not in {"image", "audio"} or not isinstance(mime_type, str):
        return None
    try:
        data = base64.b64decode(block.get("data") or "", validate=True)
    except (TypeError, ValueError):
        return None
    return Media(is_image=kind == "image", mime_type=mime_type, data=data) if data else None


def blocks_of(result: CallResult) -> list[Mapping[str, Any]]:
    """Return the blocks of a result, or its value as a text where it has that alone."""
    if result.content or result.structured is None:
        return list(result.content)
    return [{"type": "text", "text": result.text}]


def failed(text: str, meta: Mapping[str, Any] | None = None) -> CallResult:
    """Return the result that says what went wrong."""
    return CallResult(content=[{"type": "text", "text": text}], is_error=True, meta=meta or {})


def advised(result: CallResult) -> CallResult:
    """Return *result* with a word on trying again, where remit and no tool says what is wrong."""
    code = result.meta.get(CODE)
    if not result.is_error or not isinstance(code, str) or code == DENIED:
        return result
    is_unknown = result.meta.get(OUTCOME) == UNKNOWN_OUTCOME
    advice = _UNKNOWN if is_unknown else _ADVICE.get(code, _OTHERWISE)
    return failed(f"{_ended(result.text)} {advice}{_known(result.meta.get(REQUEST))}", result.meta)


def denied(name: str, request: object, reason: str = "", rule: str = "") -> CallResult:
    """Return what to read of a denial.

    Args:
        name: As the tool was called.
        request: The id of the refusal in the record.
        reason: Why, where the role explains denials.
        rule: Which rule says so, likewise.
    """
    why = f"{reason} ({rule})" if rule else "there is no such tool here, or you may not use it"
    return failed(
        f"{name} was not called: {why}. Calling it again does not help: use another tool, or ask"
        f" an administrator of the gateway, who finds the refusal under request {request}.",
        {CODE: DENIED, REQUEST: request},
    )


def broken(name: str, message: str, request: object) -> CallResult:
    """Return what to read where a server answered with an error and no result."""
    return failed(
        f"{name} failed: {_ended(message)} {_OTHERWISE}{_known(request)}",
        {REQUEST: request} if request else {},
    )


def read_answer(name: str, answer: Mapping[str, Any], *, has_begun: bool = False) -> CallResult:
    """Return what came of a call of *name*, by the JSON-RPC answer of remit's own door.

    Args:
        name: As the tool was called.
        answer: Of the last round.
        has_begun: Whether there were rounds before, so that a refusal is of a call under way.
    """
    result = answer.get("result")
    if result is not None:
        if state_alone(result) is not None:
            return broken(name, f"it has no answer after {len(PAUSES)} further rounds", "")
        if result.get("resultType", _COMPLETE) != _COMPLETE:
            return broken(name, "it asks its caller a question, which nobody here can answer", "")
        read = CallResult.of(result)
        if has_begun and read.meta.get(CODE) in NOT_MADE and REQUEST in read.meta:
            return broken(name, f"{_BEGUN}: {read.text}", read.meta[REQUEST])
        return read
    error = cast("Mapping[str, Any]", answer["error"])
    data = cast("Mapping[str, Any]", error.get("data") or {})
    request = data.get("requestId")
    if has_begun:
        return broken(name, f"{_BEGUN}: {error['message']}", request)
    if error["message"] == _UNKNOWN_TOOL and request:
        return denied(name, request, data.get("reason", ""), data.get("rule", ""))
    return broken(name, error["message"], request)


def not_json(name: str, error: Exception) -> CallResult:
    """Return what to read where the arguments are none that could be sent."""
    return failed(
        f"{name} was not called: its arguments cannot be written as JSON ({error})."
        f" {_ADVICE['INVALID_INPUT']}",
        {CODE: "INVALID_INPUT"},
    )


def _ended(sentence: str) -> str:
    """Return a sentence with its full stop, which servers' own may have already."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _known(request: object) -> str:
    return f" (request {request})" if request else ""
