"""Record events and print each id once it is recorded: `URL DIRECTORY COUNT FIRST [DURABILITY]`.

Begins at a line on its standard input and then, when COUNT is reached, ends at the next one.
"""

import sys
from pathlib import Path

import anyio

from remit.storage.audit import open_audit
from remit.storage.database import open_database
from remit.testing.fakes import sample_event


async def record(url: str, directory: Path, numbers: range, durability: str) -> None:
    async with (
        open_database(url) as database,
        open_audit(
            database, directory, durability="disk" if durability == "disk" else "process"
        ) as audit,
    ):
        for number in numbers:
            event = sample_event(number)
            await audit.record(event)
            sys.stdout.write(f"{event.id}\n")
            sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.readline)


if __name__ == "__main__":
    url, directory, count, first, *rest = sys.argv[1:]
    numbers = range(int(first), int(first) + int(count))
    sys.stdin.readline()
    anyio.run(record, url, Path(directory), numbers, rest[0] if rest else "process")
