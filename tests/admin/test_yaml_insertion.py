"""A member more in a document that a person wrote, and every other line as it was (S0.29)."""

from collections.abc import Sequence
from difflib import ndiff

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remit.admin.yaml_insertion import with_member

WRITTEN = """\
# Ours.
version: "1.0"

mcp_servers:
    # the first one
    git: {builtin: git}   # of remit

roles:
  reader:
    tools:
      git: [git_log]
  nobody:
  flow: {tools: {git: [git_log]}}
"""


def added(before: str, after: str) -> list[str]:
    """Return the lines that came; none may have gone or changed."""
    lines = list(ndiff(before.splitlines(), after.splitlines()))
    assert not [line for line in lines if line.startswith("- ")]
    return [line.removeprefix("+ ") for line in lines if line.startswith("+ ")]


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        (["mcp_servers"], ["    new:", "      a: [b]"]),
        (["roles"], ["  new:", "    a: [b]"]),
        (["roles", "reader"], ["    new:", "      a: [b]"]),
        (["roles", "reader", "tools"], ["      new:", "        a: [b]"]),
        (["roles", "nobody"], ["    new:", "      a: [b]"]),
        (["limits"], ["", "limits:", "  new:", "    a: [b]"]),
    ],
    ids=".".join,
)
def test_lines_come_to_their_neighbours_and_no_other_line_changes(
    place: Sequence[str], lines: Sequence[str]
) -> None:
    written = with_member(WRITTEN, place, "new", {"a": ["b"]})

    assert written is not None
    assert added(WRITTEN, written) == lines


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("{tools: {git: [git_log]}}", "{tools: {new: {a: [b]}, git: [git_log]}}"),
        ('{"tools": { git: []}}  # ok', '{"tools": {new: {a: [b]},  git: []}}  # ok'),
        ("{tools: {}, mytools: {x: y}}", "{tools: {new: {a: [b]}}, mytools: {x: y}}"),
    ],
)
def test_into_braces_on_one_line_go_words(line: str, written: str) -> None:
    text = f"roles:\n  r: {line}\n"

    assert with_member(text, ["roles", "r", "tools"], "new", {"a": ["b"]}) == (
        f"roles:\n  r: {written}\n"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (WRITTEN, ["version"]),
        (WRITTEN, ["roles", "absent"]),
        (WRITTEN, ["roles", "reader", "tools", "git"]),
        ('{"roles": {}}', ["roles"]),
        ("a: &a\n  b: 1\nc: *a\n", ["c"]),
    ],
)
def test_what_lines_cannot_be_put_into_is_left_alone(text: str, place: Sequence[str]) -> None:
    assert with_member(text, place, "new", 1) is None


def test_what_is_there_already_is_not_written_again() -> None:
    assert with_member(WRITTEN, ["mcp_servers"], "git", {}) is None


def test_the_ends_of_lines_stay_what_they_are() -> None:
    windows = WRITTEN.replace("\n", "\r\n").removesuffix("\r\n")

    written = with_member(windows, ["roles"], "new", {"a": ["b"]})

    assert written is not None
    assert "\n" not in written.replace("\r\n", "")
    assert yaml.safe_load(written)["roles"]["new"] == {"a": ["b"]}


_TEXTS = st.text("ab: #{}[]'\"\n-&*!|>%@`", max_size=6)
_VALUES = st.recursive(
    _TEXTS | st.integers(-9, 9) | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=5,
)


@given(
    tree=st.dictionaries(st.sampled_from(["a", "b"]), st.dictionaries(_TEXTS, _VALUES, max_size=3)),
    style=st.sampled_from([None, True, False]),
    place=st.sampled_from(["a", "b", "c"]),
    key=_TEXTS,
)
def test_whatever_comes_of_it_is_the_old_document_with_the_new_member(
    tree: dict[str, dict[str, object]], style: bool | None, place: str, key: str
) -> None:
    document = {"version": 1, **tree}
    text: str = yaml.safe_dump(document, default_flow_style=style)  # pyright: ignore[reportUnknownMemberType]  # its stub leaves a width open

    written = with_member(text, [place], key, {"x": ["y"]})

    if written is not None:
        section = {**tree.get(place, {}), key: {"x": ["y"]}}
        assert yaml.safe_load(written) == {"version": 1, **tree, place: section}
        assert key not in tree.get(place, {})
