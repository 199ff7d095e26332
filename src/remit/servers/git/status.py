"""git_status: the branch, and what differs from it."""

from remit.servers.arguments import Arguments
from remit.servers.errors import ToolError
from remit.servers.git.names import shown, shown_branch
from remit.servers.git.repository import Repository
from remit.servers.git.run import LISTING_CAP

_STATES = {
    "M": "modified",
    "T": "type-changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "unmerged",
}

IN_SUBMODULES = "--ignore-submodules=dirty"
"""A submodule differs when its commit does.

To see what is changed inside, git would run a status of its own there, with settings that nobody
has looked at; `repo_path` shows that.
"""

MOST = 200
"""Files of each kind that are named; all are counted."""

# Fields before the path in one porcelain-v2 record, by its first letter.
_FIELDS = {"1": 8, "2": 9, "u": 10}


async def git_status(repository: Repository, _arguments: Arguments) -> dict[str, object]:
    """Return the branch, its distance from upstream, and the files that differ."""
    output = await repository.reader.ask(
        *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--renames"),
        IN_SUBMODULES,
        cap=LISTING_CAP,
    )
    if not output.ok:
        raise ToolError(f"git status failed: {output.said}\nrepair the repository first")
    records = output.fields
    headers = dict(_header(record) for record in records if record.startswith("# "))
    changes = _Changes()
    changes.read([record for record in records if not record.startswith("# ")])
    ahead, _, behind = headers.get("branch.ab", "").partition(" ")
    head, commit = headers.get("branch.head"), headers.get("branch.oid")
    detached = head == "(detached)"
    upstream = headers.get("branch.upstream")
    return {
        "branch": None if detached or head is None else shown_branch(head),
        "detached": detached,
        "commit": None if commit == "(initial)" else commit,
        "upstream": shown_branch(upstream) if upstream else None,
        "ahead": int(ahead) if ahead else None,
        "behind": -int(behind) if behind else None,
        "under_way": repository.under_way,
        "clean": changes.none(),
        **{kind: files[:MOST] for kind, files in changes.by_kind.items()},
        "counts": {kind: len(files) for kind, files in changes.by_kind.items()},
        "truncated": output.truncated or any(len(f) > MOST for f in changes.by_kind.values()),
    }


def state_of(letter: str) -> str:
    """Return the word for git's letter for a change."""
    return _STATES.get(letter[:1], "changed")


def _header(record: str) -> tuple[str, str]:
    _, name, value = record.split(" ", 2)
    return name, value


class _Changes:
    """The files of a status, by where they differ."""

    def __init__(self) -> None:
        self._staged: list[object] = []
        self._unstaged: list[object] = []
        self._untracked: list[object] = []
        self._conflicts: list[object] = []

    @property
    def by_kind(self) -> dict[str, list[object]]:
        """The files by kind."""
        return {
            "staged": self._staged,
            "unstaged": self._unstaged,
            "untracked": self._untracked,
            "conflicts": self._conflicts,
        }

    def none(self) -> bool:
        """Say whether nothing differs."""
        return not any(self.by_kind.values())

    def read(self, records: list[str]) -> None:
        """Sort porcelain-v2 records; that of a rename is followed by one with the old path."""
        remaining = iter(records)
        for record in remaining:
            kind = record[:1]
            if kind == "?":
                self._untracked.append(shown(record[2:]))
            elif kind == "u":
                self._conflicts.append(shown(record.split(" ", _FIELDS[kind])[-1]))
            elif kind in _FIELDS:
                old = next(remaining, "") if kind == "2" else ""
                self._changed(record.split(" ", _FIELDS[kind]), old)

    def _changed(self, fields: list[str], old: str) -> None:
        index, tree = fields[1]
        for letter, files in ((index, self._staged), (tree, self._unstaged)):
            if letter != ".":
                file = {"path": shown(fields[-1]), "state": state_of(letter)}
                files.append(file | ({"old_path": shown(old)} if letter in "RC" else {}))
