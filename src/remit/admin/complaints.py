"""From Pydantic's errors to problems that name file, line, key and remedy.

Nothing here repeats a value of the document: any of them may be a secret.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remit.admin.schema import Place, known_keys
from remit.admin.spelling import nearest
from remit.admin.yaml_source import path_of
from remit.errors import Problem

Location = tuple[str | int, ...]
"""Keys and indices from the document down to a value."""

_WANTED = {
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
}
_USUAL_REMEDIES = {
    "bad-name": "choose another name",
    "bad-pattern": "write it as 'server/tool', with '*' for any run of characters",
    "bad-subject": "write a kind and a name, such as 'user:ann'",
    "bad-value": "write such a value, or remove the key to have its default",
    "duplicate-key": "keep one of the two",
    "missing-key": "add it",
    "wrong-type": "write such a value, or remove the key to have its default",
}
"""What to do where whoever complains has no better advice."""

_RULE_KEYS = frozenset(
    {
        *("argument", "arguments", "arg", "args", "constraint", "constraints", "condition"),
        *("conditions", "when", "where", "if", "unless", "match", "rule", "rules"),
    }
)
_RULE_SECTIONS = frozenset({"roles", "agent_types", "grants", "limits"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What came of comparing a mapping with its shape.

    Attributes:
        problems: What is wrong; empty when it fits.
        wrong: Its keys behind which something is wrong.
        sound: The mapping without those keys, so that the rest of it can be checked as well.
    """

    problems: tuple[Problem, ...] = ()
    wrong: frozenset[str] = frozenset()
    sound: Mapping[str, object] = field(repr=False, default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaints:
    """Makes problems about one document.

    Attributes:
        positions: As in `Source`, for the contract's spelling.
    """

    file: str
    positions: Mapping[str, int] = field(repr=False)

    def at(self, code: str, message: str, *, where: Location, remedy: str = "") -> Problem:
        """Return a problem at *where*; *message* continues the sentence that its path begins."""
        path = path_of(where)
        text = f"{path!r} {message}" if path else f"the document {message}"
        line = self.line_of(where)
        advice = remedy or _USUAL_REMEDIES.get(code, "")
        return Problem(code=code, message=text, file=self.file, line=line, remedy=advice)

    def line_of(self, where: Location) -> int:
        """Return the line of the nearest thing around *where* that has one, or 0."""
        return self.line_of_path(path_of(where))

    def line_of_path(self, path: str) -> int:
        """Return the same for a path such as `roles.designer.tools.git[0]`."""
        while path not in self.positions:
            if not path:
                return 0
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.positions[path]

    def examine(self, shape: type[BaseModel], value: object, where: Location) -> Examined:
        """Compare *value*, which stands at *where*, with *shape*."""
        try:
            shape.model_validate(value)
        except ValidationError as error:
            details = error.errors(include_url=False)
            problems = tuple(
                self._translate(detail, (*where, *detail["loc"])) for detail in details
            )
            wrong = frozenset(str(detail["loc"][0]) for detail in details if detail["loc"])
            return Examined(problems=problems, wrong=wrong, sound=_without(value, wrong))
        return Examined(sound=_without(value, ()))

    def _translate(self, detail: ErrorDetails, where: Location) -> Problem:
        kind, value = detail["type"], cast("object", detail["input"])
        if kind == "extra_forbidden":
            return self._unknown_key(where)
        if _is_rule_on_arguments(kind, value, where):
            return self._rule_on_arguments(where)
        if kind in _WANTED:
            message = f"must be {_WANTED[kind]}, not {_describe(value)}"
            return self.at("wrong-type", message, where=where, remedy=_remedy_of_type(kind, value))
        if kind == "literal_error":
            return self._not_one_of(str(detail.get("ctx", {}).get("expected", "")), value, where)
        code = kind if kind in ("wrong-type", "bad-value") else "bad-value"
        message = detail["msg"].removeprefix("Input should be ")
        text = message if code == kind else f"must be {message}"
        if kind == "less_than_equal":
            text = f"is too large: it {text}"
        return self.at(code, text, where=where)

    def _unknown_key(self, where: Location) -> Problem:
        key = str(where[-1])[:80]
        if where[0] in _RULE_SECTIONS and key.lower() in _RULE_KEYS:
            return self._rule_on_arguments(where)
        place: Place = tuple(str(part) for part in where[:-1])
        known = known_keys(place)
        meant = nearest(key, known)
        around = path_of(where[:-1])
        message = f"unknown key {key!r} in {around!r}" if around else f"unknown key {key!r}"
        remedy = f"did you mean {meant!r}?" if meant else f"known keys: {', '.join(known)}"
        line = self.line_of(where)
        return Problem(
            code="unknown-key", message=message, file=self.file, line=line, remedy=remedy
        )

    def _rule_on_arguments(self, where: Location) -> Problem:
        return self.at(
            "rule-on-arguments",
            "is a rule on arguments, and rules on arguments are not in this release (R36)",
            where=where,
            remedy="grant or deny whole tools: write names and patterns alone",
        )

    def _not_one_of(self, expected: str, value: object, where: Location) -> Problem:
        options = tuple(part.strip("'") for part in expected.replace(" or ", ", ").split(", "))
        meant = nearest(value, options) if isinstance(value, str) else None
        remedy = f"did you mean {meant!r}?" if meant else ""
        message = f"must be {expected}"
        return self.at("bad-value", message, where=where, remedy=remedy)


def _without(value: object, keys: Collection[str]) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    entries = cast("Mapping[str, object]", value).items()
    return {key: inner for key, inner in entries if key not in keys}


def _describe(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _remedy_of_type(kind: str, value: object) -> str:
    if kind == "list_type" and isinstance(value, str):
        return "write it as a list: [ … ]"
    if kind == "string_type" and value is None:
        return "write a text, or remove the key"
    return ""


def _is_rule_on_arguments(kind: str, value: object, where: Location) -> bool:
    """Whether a mapping stands where a role names tools: somebody's rule on arguments (R36)."""
    if not isinstance(value, Mapping) or not where or where[0] not in _RULE_SECTIONS:
        return False
    if kind == "string_type":
        return isinstance(where[-1], int)
    # `git: {git_push: {branch: main}}` where `git: [git_push]` is expected.
    return kind == "list_type" and any(
        isinstance(inner, Mapping) for inner in cast("Mapping[str, object]", value).values()
    )
