"""JSON read strictly, and what is in its objects.

Of two members with one name one reader takes the first, another the last.
"""

from typing import Final, NoReturn, cast

_LONGEST_SHOWN: Final = 80


class RepeatedMember(ValueError):
    """A name stands twice in one object.

    Attributes:
        name: The first that does, cut so that it can be shown.
    """

    def __init__(self, name: str) -> None:
        super().__init__("a member is there twice")  # a credential's names stay out of logs
        self.name = name[:_LONGEST_SHOWN]


def members_of(value: object) -> dict[str, object]:
    """Return the members of a JSON value; empty where it is no object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def members_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of its members: the `object_pairs_hook` of every strict reader.

    Raises:
        RepeatedMember: A name stands twice.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedMember(next(name for name in names if names.count(name) > 1))
    return members


def no_constant(name: str) -> NoReturn:
    """Refuse `NaN` and the infinities: the `parse_constant` of every strict reader.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{name} is no JSON")
