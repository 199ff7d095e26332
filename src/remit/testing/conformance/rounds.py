"""Tools of the fixture that need more than one round: `input_required`, and what answers it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import mcp_types as t
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import INVALID_PARAMS

from remit.testing.conformance.contents import form, sampled, text

Context = ServerRequestContext[Any]
Answer = t.CallToolResult | t.InputRequiredResult
Questions = Mapping[str, t.InputRequest]

STATE: Final = "asked"
"""What the fixture asks to have back; the library seals it."""


def said(words: str) -> t.CallToolResult:
    """Return a result of one text."""
    return t.CallToolResult(content=[text(words)])


def needed(questions: Questions, state: str | None = None) -> t.InputRequiredResult:
    """Return the result that asks for more."""
    return t.InputRequiredResult(input_requests=dict(questions), request_state=state)


def content_of(responses: t.InputResponses | None, key: str) -> dict[str, Any] | None:
    """Return what the user filled in under *key*, or None while that is missing."""
    answer = (responses or {}).get(key)
    if not isinstance(answer, t.ElicitResult) or answer.content is None:
        return None
    return dict(answer.content)


def elicitation(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask for a name until there is one."""
    filled = content_of(params.input_responses, "user_name")
    if filled is None:
        return needed({"user_name": form("What is your name?", name={"type": "string"})})
    return said(f"Hello, {filled.get('name')}!")


def sampling(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask the caller's model."""
    if "capital_question" not in (params.input_responses or {}):
        return needed({"capital_question": sampled("What is the capital of France?")})
    return said("The model has answered.")


def list_roots(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask for the caller's roots."""
    answer = (params.input_responses or {}).get("client_roots")
    if not isinstance(answer, t.ListRootsResult):
        return needed({"client_roots": t.ListRootsRequest()})
    return said("Roots: " + ", ".join(str(root.uri) for root in answer.roots))


def request_state(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask for something to be kept, and take nothing else for it."""
    if params.request_state is None:
        return needed({"confirm": form("Please confirm", ok={"type": "boolean"})}, STATE)
    if params.request_state != STATE:
        raise MCPError(INVALID_PARAMS, "requestState is not mine")
    return said("state-ok")


def multiple_inputs(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask three things at once."""
    questions: Questions = {
        "user_name": form("What is your name?", name={"type": "string"}),
        "greeting": sampled("Generate a greeting", most=50),
        "client_roots": t.ListRootsRequest(),
    }
    if not questions.keys() <= (params.input_responses or {}).keys():
        return needed(questions, STATE)
    return said("all three were answered")


def multi_round(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask one thing after the other."""
    if params.request_state is None:
        question = form("Step 1: What is your name?", name={"type": "string"})
        return needed({"step1": question}, "1")
    if params.request_state == "1":
        question = form("Step 2: What is your favorite color?", color={"type": "string"})
        return needed({"step2": question}, "2")
    return said("both steps were taken")


def capabilities(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask only what the caller can answer."""
    if params.input_responses:
        return said("it was answered")
    able = ctx.session.client_capabilities or t.ClientCapabilities()
    questions: dict[str, t.InputRequest] = {}
    if able.sampling is not None:
        questions["sampled"] = sampled("Say something")
    if able.elicitation is not None:
        questions["asked"] = form("Say something", words={"type": "string"})
    if able.roots is not None:
        questions["roots"] = t.ListRootsRequest()
    return needed(questions)


def streaming_elicitation(_: Context, params: t.CallToolRequestParams) -> Answer:
    """Ask on the way."""
    filled = content_of(params.input_responses, "go_on")
    if filled is None:
        return needed({"go_on": form("Shall it go on?", ok={"type": "boolean"})})
    return said("it went on")


ROUNDS: Final[Mapping[str, Callable[[Context, t.CallToolRequestParams], Answer]]] = {
    "test_input_required_result_elicitation": elicitation,
    "test_input_required_result_sampling": sampling,
    "test_input_required_result_list_roots": list_roots,
    "test_input_required_result_request_state": request_state,
    "test_input_required_result_multiple_inputs": multiple_inputs,
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_tampered_state": request_state,
    "test_input_required_result_capabilities": capabilities,
    "test_streaming_elicitation": streaming_elicitation,
}
"""What each such tool does, by its name."""
