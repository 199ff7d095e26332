"""The text of a paragraph, heading or cell as Markdown that gives the same text when read again.

Markdown has no sure way to write every text (`a**(b)**c` is no bold b), so the parser has the last
word: a line is written as a person would, read back, and written with more care if it came out as
something else; at last with every sign escaped and without emphasis, which always holds.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from remit.servers.jira.adf.from_markdown import document
from remit.servers.jira.adf.nodes import kind_of, nodes_in
from remit.servers.jira.adf.runs import Mark, Run, joined, runs_of, trimmed

Frame = Literal["paragraph", "heading", "cell"]
"""What the text stands in; in a cell, line breaks are `<br>`, in a heading there are none."""

_DELIMITERS: Final[Mapping[str, str]] = {"strong": "**", "em": "*", "strike": "~~"}
_EVERY: Final = re.compile(r"([!-/:-@\[-`{-~])")
_SOME: Final = re.compile(
    r"""([*`]
    | \\(?=[!-/:-@\[-`{-~]|$)
    | (?<![^\W_])_ | _(?![^\W_])      # not inside of snake_case
    | <(?=\S) | &(?=\#?\w+;)
    | \](?=[(\[:])
    | ~(?=~|$) | (?<=~)~ | ^~)""",
    re.VERBOSE,
)
_AT_START: Final = re.compile(
    r"^(\#{1,6}(?=\s|$) | > | [-+](?=\s|$) | [-=:|](?=[-=:|\s]*$) | \[(?=[ xX!]))", re.VERBOSE
)
_NUMBER: Final = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
# Nothing in it, and nothing that it may stand beside, means anything in Markdown.
_HARMLESS: Final = re.compile(r"""[^\W\d_](?:[^\W_]|[ ,;.:'"()/?!-])*""")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[^\s<>\\]+")

_Escape = Callable[[str, bool], str]


def inline_markdown(nodes: Sequence[Mapping[str, object]], frame: Frame = "paragraph") -> str:
    """Return inline *nodes* as Markdown; `""` when they hold nothing but white space."""
    runs = trimmed(runs_of(nodes), one_line=frame == "heading")
    if len(runs) == 1 and not runs[0].marks and _HARMLESS.fullmatch(runs[0].text):
        return runs[0].text
    attempts: tuple[tuple[list[Run], _Escape], ...] = (
        (runs, _some),
        (runs, _every),
        (_with_only(runs, "link", "code"), _every),
    )
    for attempt, escape in attempts:
        written = _in_frame(_written(attempt, escape), frame)
        if _read(written, frame) == attempt:
            return written
    return _in_frame(_written(_with_only(runs), _every), frame)


def _with_only(runs: Sequence[Run], *kinds: str) -> list[Run]:
    kept = [
        Run(text=run.text, marks=tuple(mark for mark in run.marks if mark[0] in kinds))
        for run in runs
    ]
    return trimmed(joined(kept))


def _in_frame(written: str, frame: Frame) -> str:
    if frame != "cell":
        return written
    return re.sub(r"(?<!\\)\|", r"\\|", written).replace("\n", "<br>")


def _read(written: str, frame: Frame) -> list[Run]:
    """Return what a parser makes of *written*; nothing when it is not one such block."""
    source = {"paragraph": written, "heading": f"# {written}", "cell": f"| {written} |\n| --- |"}
    blocks = nodes_in(document(source[frame]))
    if frame == "cell" and len(blocks) == 1:
        blocks = [node for row in nodes_in(blocks[0]) for node in nodes_in(row)]
        blocks = nodes_in(blocks[0]) if len(blocks) == 1 else ()
    wanted = "heading" if frame == "heading" else "paragraph"
    if len(blocks) != 1 or kind_of(blocks[0]) != wanted:
        return []
    return runs_of(nodes_in(blocks[0]))


def _written(runs: Sequence[Run], escape: _Escape) -> str:
    """Write *runs*, opening and closing marks where they change."""
    written = ""
    open_marks: list[Mark] = []
    for run in runs:
        bare = run.marks == (("link", run.text),) and _URL.fullmatch(run.text) is not None
        wanted = () if bare else tuple(mark for mark in run.marks if mark[0] != "code")
        shared = _shared(open_marks, wanted)
        while len(open_marks) > shared:
            written += _closing(open_marks.pop())
        for mark in wanted[shared:]:
            open_marks.append(mark)
            written += _DELIMITERS.get(mark[0], "[")
        if bare:
            written += f"<{run.text}>"
        elif run.is_code:
            written += _code(run.text)
        else:
            written += _escaped(run.text, escape, begins=not written or written[-1] == "\n")
    return written + "".join(map(_closing, reversed(open_marks)))


def _shared(first: Sequence[Mark], second: Sequence[Mark]) -> int:
    """Return how many marks both begin with."""
    same = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        same += 1
    return same


def _closing(mark: Mark) -> str:
    kind, href = mark
    if kind != "link":
        return _DELIMITERS[kind]
    if re.search(r"[\s<>()\\]", href):
        return "](<" + re.sub(r"([<>\\])", r"\\\1", href) + ">)"
    return f"]({href})"


def _code(text: str) -> str:
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    if text.strip() and (text[0] in "` " or text[-1] in "` "):
        return f"{ticks} {text} {ticks}"
    return f"{ticks}{text}{ticks}"


def _escaped(text: str, escape: _Escape, *, begins: bool) -> str:
    first, *others = text.split("\n")
    return "\n".join([escape(first, begins), *(escape(line, True) for line in others)])


def _some(line: str, begins: bool) -> str:
    """Escape what would mean something where it stands, as a person would."""
    escaped = _SOME.sub(r"\\\1", line)
    if not begins:
        return escaped
    return _NUMBER.sub(r"\1\\\2", _AT_START.sub(r"\\\1", escaped))


def _every(line: str, _begins: bool) -> str:
    return _EVERY.sub(r"\\\1", line)
