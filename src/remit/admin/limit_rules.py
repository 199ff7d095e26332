"""What must hold of a limit beyond its types.

    limits:
      - {role: backend_developer, tool: "github/create_*", calls: 30, per: minute}
      - {principal: "key:ci", calls: 1000, per: day}
      - {tool: "search/*", calls: 5, per: 10, per_caller: false}

`per` is a word or a whole number of seconds; what is left out narrows nothing.
"""

from collections.abc import Iterator

from remit.admin.complaints import Complaints, Location
from remit.admin.schema import LimitShape
from remit.admin.spelling import nearest
from remit.errors import Problem
from remit.model.limits import SPANS, Limit
from remit.policy.patterns import check_pattern

PRINCIPAL_KINDS = ("key", "user", "agent")
"""The kinds of caller that a limit can be about by name."""

LONGEST_SPAN = 366 * SPANS["day"]
"""Seconds beyond which nobody remembers what was counted."""


def limit_of(shape: LimitShape) -> Limit:
    """Return the limit that a sound entry states."""
    return Limit(
        role=shape.role,
        principal=shape.principal,
        tool=shape.tool,
        calls=shape.calls,
        seconds=_span(shape.per) or 1,
        per_caller=shape.per_caller,
    )


def limit_problems(complaints: Complaints, where: Location, shape: LimitShape) -> Iterator[Problem]:
    """Give what is wrong with a well-typed limit."""
    for key, example in (("calls", "calls: 30"), ("per", "per: minute")):
        if key not in shape.model_fields_set:
            yield complaints.at(
                "missing-key", f"needs `{key}`", where=where, remedy=f"write `{example}`"
            )
    if "per" in shape.model_fields_set and _span(shape.per) is None:
        meant = nearest(str(shape.per), tuple(SPANS))
        yield complaints.at(
            "bad-value",
            f"must be one of {', '.join(SPANS)}, or whole seconds up to {LONGEST_SPAN}",
            where=(*where, "per"),
            remedy=f"did you mean {meant!r}?" if meant else "",
        )
    if shape.tool and (reason := check_pattern(shape.tool)) is not None:
        yield complaints.at("bad-pattern", f"is no pattern: {reason}", where=(*where, "tool"))
    if shape.principal:
        yield from _principal_problems(complaints, where, shape.principal)


def _principal_problems(
    complaints: Complaints, where: Location, principal: str
) -> Iterator[Problem]:
    kind, colon, name = principal.partition(":")
    if kind in PRINCIPAL_KINDS and name.strip():
        return
    meant = nearest(kind, PRINCIPAL_KINDS) if colon and name.strip() else None
    if kind == "role":
        remedy = f"write `role: {name}`"
    elif not colon:
        remedy = f"did you mean 'key:{principal}'?"
    else:
        remedy = f"did you mean '{meant}:{name}'?" if meant else ""
    yield complaints.at(
        "bad-subject",
        "is no caller: it must be one of "
        + ", ".join(f"'{known}:NAME'" for known in PRINCIPAL_KINDS),
        where=(*where, "principal"),
        remedy=remedy,
    )


def _span(per: object) -> int | None:
    """Return how many seconds `per` means, or None when it means none."""
    if isinstance(per, str):
        word = per.strip().lower()
        if not word.isascii() or not word.isdecimal():
            return SPANS.get(word)
        per = int(word[:10])
    if isinstance(per, bool) or not isinstance(per, int) or not 1 <= per <= LONGEST_SPAN:
        return None
    return per
