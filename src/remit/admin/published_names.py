"""The names of roles for published servers of others: what `names` in an entry stands for (R30).

The maps are data: `defaults/published_names.yaml`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

from remit.admin.complaints import Complaints
from remit.admin.spelling import nearest
from remit.admin.yaml_source import read_text
from remit.errors import Problem
from remit.model.servers import BorrowedNames


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNames:
    """One shipped map.

    Attributes:
        program: For which it is, with its version.
        tools: Our name to the program's own.
        arguments: Our tool name to (our argument name to the program's own).
        left_out: Names that the program cannot serve, each with the reason.
    """

    program: str
    tools: Mapping[str, str]
    arguments: Mapping[str, Mapping[str, str]]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """The three fields of a server's entry that other names make."""

    names: BorrowedNames | None
    tool_names: Mapping[str, str]
    tool_args: Mapping[str, Mapping[str, str]]


@cache
def published_names() -> Mapping[str, PublishedNames]:
    """Return every shipped map by the word that chooses it."""
    resource = files("remit.admin").joinpath("defaults", "published_names.yaml")
    data = read_text(resource.read_text(encoding="utf-8"), file="published_names.yaml").data
    return {
        choice: PublishedNames(
            program=cast("str", entry["for"]),
            tools=cast("Mapping[str, str]", entry["tools"]),
            arguments=cast("Mapping[str, Mapping[str, str]]", entry["arguments"]),
            left_out=cast("Mapping[str, str]", entry["left_out"]),
        )
        for choice, entry in cast("Mapping[str, Mapping[str, object]]", data).items()
    }


def renaming(
    choice: str, tool_names: Mapping[str, str], tool_args: Mapping[str, Mapping[str, str]]
) -> Renaming:
    """Join a shipped map with what the entry itself says, which stands above it.

    An entry that names a tool itself speaks for its arguments too.

    Args:
        choice: A word of `published_names`, or empty for none.
        tool_names: Of the entry.
        tool_args: Of the entry.
    """
    if not choice:
        return Renaming(names=None, tool_names=tool_names, tool_args=tool_args)
    shipped = published_names()[choice]
    arguments = {ours: args for ours, args in shipped.arguments.items() if ours not in tool_names}
    left_out = {ours: reason for ours, reason in shipped.left_out.items() if ours not in tool_names}
    return Renaming(
        names=BorrowedNames(choice=choice, left_out=left_out),
        tool_names={**shipped.tools, **tool_names},
        tool_args={**arguments, **tool_args},
    )


def choice_problem(complaints: Complaints, server: str, choice: str) -> Problem | None:
    """Say that nothing is shipped under that word, or return None."""
    known = tuple(published_names())
    if not choice or choice in known:
        return None
    meant = nearest(choice, known)
    return complaints.at(
        "unknown-names",
        "names no map of names that remit ships",
        where=("mcp_servers", server, "names"),
        remedy=f"did you mean {meant!r}?" if meant else f"known: {', '.join(known)}",
    )
