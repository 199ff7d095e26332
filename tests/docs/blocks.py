"""The code blocks of the documents."""

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    *(REPOSITORY / f"{name}.md" for name in ("README", "ARCHITECTURE", "CHANGELOG")),
    *(REPOSITORY / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY")),
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "examples").glob("*/README.md")),
]

_FENCE = re.compile(r"(?P<indent> *)```(?P<language>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        line: Of its opening fence, 1-based.
    """

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{name_of(self.page)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that its first line names in a comment, such as `# remit.yaml`."""
        named = re.match(r"# ([\w./-]+\.\w+)\n", self.text)
        return named[1] if named is not None else None


def name_of(page: Path) -> str:
    """Return the page's path in the repository."""
    return str(page.relative_to(REPOSITORY))


def blocks_of(page: Path) -> list[Block]:
    """Return the page's blocks in order."""
    found: list[Block] = []
    lines = iter(enumerate(page.read_text().splitlines(), start=1))
    for number, line in lines:
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        inside: list[str] = []
        for _, text in lines:
            if text.strip() == "```":
                break
            inside.append(text.removeprefix(fence["indent"]) + "\n")
        found.append(
            Block(page=page, line=number, language=fence["language"].strip(), text="".join(inside))
        )
    return found


def prose_of(page: Path) -> str:
    """Return the page without its blocks."""
    return re.sub(r"(?ms)^ *```.*?^ *```$", "", page.read_text())
