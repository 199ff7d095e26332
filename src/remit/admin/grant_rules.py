"""What must hold of agent types, grants and groups beyond their types (S3.6, S4.16, R15).

    grants:
      - {user: ann, effect: allow, server: wiki, until: 2027-01-31T18:00:00Z}
      - {group: contractors, effect: deny, tool: "*/delete_*"}
      - {everyone: true, effect: deny, server: vault}

A grant has one subject, in a key of its own or as `subject: user:ann`, and one target.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from remit.admin.complaints import Complaints, Location
from remit.admin.schema import GrantShape
from remit.admin.spelling import nearest
from remit.errors import Problem
from remit.identity.claims import LONGEST_NAME, is_name
from remit.model.grants import Grant
from remit.model.principals import AgentType
from remit.policy.grants import EVERYBODY
from remit.policy.patterns import check_pattern

SUBJECT_KINDS = ("user", "group", "agent", "key", "role")
"""The kinds of subject that a grant can be about, beside everybody."""

MEMBER_KINDS = ("user", "agent", "key")
"""The kinds of caller that a group can list."""

_WAYS = (*SUBJECT_KINDS, "everyone")


def agent_type_of(name: str) -> AgentType | None:
    """Return the agent type of that name, or None."""
    return next((one for one in AgentType if one.value == name), None)


def unknown_agent_type(complaints: Complaints, name: str) -> Problem:
    """Return the problem of an agent type that is none (R7)."""
    types = tuple(one.value for one in AgentType)
    meant = nearest(name, types)
    return complaints.at(
        "unknown-agent-type",
        "is no agent type",
        where=("agent_types", name),
        remedy=f"did you mean {meant!r}?" if meant else f"agent types: {', '.join(types)}",
    )


def grant_of(shape: GrantShape) -> Grant:
    """Return the grant that a sound entry states."""
    return Grant(
        subject=_subject(shape),
        effect=shape.effect or "deny",
        server=shape.server,
        tool=shape.tool,
        until=_moment(shape.until) if shape.until else None,
        enabled=shape.enabled,
    )


def grant_problems(complaints: Complaints, where: Location, shape: GrantShape) -> Iterator[Problem]:
    """Give what is wrong with a well-typed grant."""
    yield from _subject_problems(complaints, where, shape)
    yield from _target_problems(complaints, where, shape)
    if shape.effect is None:
        yield complaints.at(
            "missing-key",
            "needs `effect`",
            where=where,
            remedy="write `effect: allow` or `effect: deny`",
        )
    if shape.until and _moment(shape.until) is None:
        yield complaints.at(
            "bad-value",
            "is no moment with a time zone",
            where=(*where, "until"),
            remedy="write it like 2027-01-31T18:00:00Z",
        )


def member_of(text: str) -> str:
    """Return a member of a group in SUBJECT spelling; a bare name is a user's."""
    return text if ":" in text else f"user:{text}"


def group_problems(
    complaints: Complaints, group: str, members: tuple[str, ...]
) -> Iterator[Problem]:
    """Give what is wrong with a declared group."""
    where = ("groups", group)
    if not group.strip():
        yield complaints.at("bad-name", "is an empty name", where=where)
    for index, member in enumerate(members):
        kind, colon, name = member_of(member).partition(":")
        if kind not in MEMBER_KINDS or not colon or not name.strip():
            yield complaints.at(
                "bad-subject",
                f"is no member: it must be a user's name, or one of {_spellings(MEMBER_KINDS)}",
                where=(*where, index),
            )


def unknown_to_tokens(
    complaints: Complaints, where: Location, subject: str, groups: Collection[str] = ()
) -> Iterator[Problem]:
    """Give a user or a group whom no token can name, so that what is said of it never matches.

    Args:
        complaints: Makes problems.
        where: Where the subject stands.
        subject: SUBJECT spelling, or `group:NAME`.
        groups: Those whose members the declaration lists, whatever they are called.
    """
    kind, _, name = subject.partition(":")
    if kind not in ("user", "group") or is_name(name) or (kind == "group" and name in groups):
        return
    yield complaints.at(
        "unknown-subject",
        f"names the {kind} {name[:80]!r}, as no token can",
        where=where,
        remedy=f"write 1 to {LONGEST_NAME} printable characters, without a space at an end",
    )


def _subject(shape: GrantShape) -> str:
    if shape.subject:
        return shape.subject
    for kind in SUBJECT_KINDS:
        if name := str(getattr(shape, kind)):
            return f"{kind}:{name}"
    return EVERYBODY


def _subject_problems(
    complaints: Complaints, where: Location, shape: GrantShape
) -> Iterator[Problem]:
    ways = [way for way in ("subject", *_WAYS) if getattr(shape, way)]
    if len(ways) > 1:
        yield complaints.at(
            "conflicting-keys",
            f"has {' and '.join(ways)}, but a grant is about one subject",
            where=where,
            remedy="write a grant each",
        )
    elif not ways:
        yield complaints.at(
            "missing-key",
            "says nothing of whom it is about",
            where=where,
            remedy=f"add one of {', '.join(f'`{way}`' for way in _WAYS)}",
        )
    elif shape.subject not in ("", EVERYBODY):
        kind, colon, name = shape.subject.partition(":")
        if kind not in SUBJECT_KINDS or not colon or not name.strip():
            meant = nearest(kind, SUBJECT_KINDS) if colon else None
            yield complaints.at(
                "bad-subject",
                f"is no subject: it must be one of {_spellings(SUBJECT_KINDS)}, or '*'",
                where=(*where, "subject"),
                remedy=f"did you mean '{meant}:{name}'?" if meant else "",
            )


def _target_problems(
    complaints: Complaints, where: Location, shape: GrantShape
) -> Iterator[Problem]:
    if shape.server and shape.tool:
        yield complaints.at(
            "conflicting-keys",
            "has server and tool, but a grant is of a whole server or of what a pattern fits",
            where=where,
            remedy=f"keep `tool`, with the server in its pattern: '{shape.server}/…'",
        )
    elif not shape.server and not shape.tool:
        yield complaints.at(
            "missing-key",
            "says nothing of what it opens or closes",
            where=where,
            remedy="add `server`, or `tool` with a pattern such as 'wiki/get_*'",
        )
    elif "*" in shape.server or "/" in shape.server:
        yield complaints.at(
            "bad-name",
            "must be the name of one server",
            where=(*where, "server"),
            remedy="write a pattern under `tool` instead, such as '*/get_*'",
        )
    elif shape.tool and (reason := check_pattern(shape.tool)) is not None:
        yield complaints.at("bad-pattern", f"is no pattern: {reason}", where=(*where, "tool"))


def _moment(text: str) -> datetime | None:
    """Return the moment that *text* names, in UTC; None when it names none, or no time zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _spellings(kinds: tuple[str, ...]) -> str:
    return ", ".join(f"'{kind}:NAME'" for kind in kinds)
