"""git_status: the branch, and what differs from it."""

from remit.servers.arguments import Arguments
from remit.servers.git.repository import Repository

_STATES = {
    "M": "modified",
    "T": "type-changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "unmerged",
}

# Fields before the path in one porcelain-v2 record, by its first letter.
_FIELDS = {"1": 8, "2": 9, "u": 10}


async def git_status(repository: Repository, _arguments: Arguments) -> dict[str, object]:
    """Return the branch, its distance from upstream, and the files that differ."""
    output = await repository.git.ask(
        "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--renames"
    )
    if not output.ok:
        # The same command once more, for its error; a status has no other way to fail.
        await repository.git.run("status", "--porcelain=v2", advice="repair the repository first")
    records = output.out.split("\0")
    # What follows the last NUL is empty, or a record that the cap cut in two.
    records.pop()
    headers = dict(_header(record) for record in records if record.startswith("# "))
    changes = _Changes()
    changes.read([record for record in records if not record.startswith("# ")])
    ahead, _, behind = headers.get("branch.ab", "").partition(" ")
    head, commit = headers.get("branch.head"), headers.get("branch.oid")
    detached = head == "(detached)"
    return {
        "branch": None if detached else head,
        "detached": detached,
        "commit": None if commit == "(initial)" else commit,
        "upstream": headers.get("branch.upstream"),
        "ahead": int(ahead) if ahead else None,
        "behind": -int(behind) if behind else None,
        "under_way": repository.under_way,
        "clean": changes.none(),
        "staged": changes.staged,
        "unstaged": changes.unstaged,
        "untracked": changes.untracked,
        "conflicts": changes.conflicts,
        "truncated": output.truncated,
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
        self.staged: list[dict[str, str]] = []
        self.unstaged: list[dict[str, str]] = []
        self.untracked: list[str] = []
        self.conflicts: list[str] = []

    def none(self) -> bool:
        """Say whether nothing differs."""
        return not (self.staged or self.unstaged or self.untracked or self.conflicts)

    def read(self, records: list[str]) -> None:
        """Sort porcelain-v2 records; that of a rename is followed by one with the old path."""
        remaining = iter(records)
        for record in remaining:
            kind = record[:1]
            if kind == "?":
                self.untracked.append(record[2:])
            elif kind == "u":
                self.conflicts.append(record.split(" ", _FIELDS[kind])[-1])
            elif kind in _FIELDS:
                old = next(remaining, "") if kind == "2" else ""
                self._changed(record.split(" ", _FIELDS[kind]), old)

    def _changed(self, fields: list[str], old: str) -> None:
        index, tree = fields[1]
        for letter, files in ((index, self.staged), (tree, self.unstaged)):
            if letter != ".":
                file = {"path": fields[-1], "state": state_of(letter)}
                files.append(file | ({"old_path": old} if letter in "RC" else {}))
