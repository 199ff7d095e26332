"""What if this caller called this tool so? Yes or no, and what every layer says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from remit.client import authority
from remit.client.authority import Explanation, LayerVerdict
from remit.doors.console.access_choices import callers_known_to, command_of, tools_known_to
from remit.doors.console.forms import status_of
from remit.doors.console.visitor import Visitor
from remit.errors import ProblemDetails
from remit.model.decisions import Layer

QUESTIONS: Final[Mapping[str, str]] = {
    "tenant": "Does the caller belong here?",
    "server": "Is the server declared and enabled?",
    "deny": "Does any deny fit?",
    "ceiling": "Does what governs the server, a role, toolset or agent type, allow the tool?",
    "access": "Is the server open to the caller?",
    "tool": "Does the tool itself say anything?",
}
"""What each layer asks, in the order of their asking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One layer of the story.

    Attributes:
        decided: Whether it is the one that decided.
    """

    question: str
    said: LayerVerdict
    decided: bool


async def what_if(visitor: Visitor) -> Response:
    """Show whether a caller may call a tool with some arguments, and what every layer says."""
    subject, tool, arguments = (visitor.asked(name) for name in ("as", "tool", "arguments"))
    answer: Explanation | None = None
    problem: ProblemDetails | None = None
    if subject and tool:
        try:
            asked = authority.explain(subject, tool, arguments=arguments or None)
            answer = await visitor.ask(asked)
        except ProblemDetails as refused:
            problem = refused
    return visitor.render(
        "access_what_if.html",
        status=status_of(problem),
        tab="what-if",
        subject=subject,
        tool=tool,
        arguments=arguments,
        answer=answer,
        problem=problem,
        story=_story(answer) if answer is not None else (),
        is_declared=answer is not None and _is_declared(answer),
        command=command_of(visitor, "explain", "--as", subject, tool),
        callers=await callers_known_to(visitor),
        tools=await tools_known_to(visitor),
    )


def _story(answer: Explanation) -> Sequence[Step]:
    return [
        Step(
            question=QUESTIONS.get(said.layer, said.layer),
            said=said,
            decided=said.layer == answer.layer,
        )
        for said in answer.layers
    ]


def _is_declared(answer: Explanation) -> bool:
    """Whether there is a server of that name, switched on or not."""
    return any(said.layer == Layer.SERVER and said.rule for said in answer.layers)
