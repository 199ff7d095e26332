"""What the audit of a call costs the gateway: its two journal lines, and its way into the database.

    python bench/intake.py          # or: --database postgresql://user@host/name

Calls are recorded in waves, as many as gather while a busy gateway waits, and each wave is taken
into the database. Times are of the processor, all threads and the system's part included (not that
of a database server), and the least of several rounds. `longest wait` is how long a task that
wants to run every millisecond had to wait for its turn meanwhile, which other callers would notice.
"""

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec

from remit.calls.ids import new_id
from remit.model.events import AuditEvent, EventKind
from remit.storage.audit import AuditLog
from remit.storage.cuts import NoKeys
from remit.storage.database import default_url, open_database
from remit.storage.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Microseconds of a call, and of the longest wait within a typical wave."""

    journal: float
    database: float
    wait: float


def call(number: int) -> tuple[AuditEvent, AuditEvent]:
    """Return the two events of a call that ran, as the recorder makes them."""
    arguments = json.dumps({"text": f"m0-{number}-" + "x" * 32})
    result = json.dumps({"content": [{"type": "text", "text": arguments}], "isError": False})
    begun = AuditEvent(
        id=new_id(), kind=EventKind.INVOKED, call_id=new_id(), time=datetime.now(UTC),
        tenant="default", principal="key:bench", role="backend_developer", server="fast",
        tool="echo", decision="allow", layer="ceiling",
        rule="roles.backend_developer.tools.fast[0]", revision=3, outcome="unknown",
        arguments=arguments, arguments_size=len(arguments),
    )  # fmt: skip
    ended = msgspec.structs.replace(
        begun, id=new_id(), kind=EventKind.FINISHED, time=datetime.now(UTC), outcome="ok",
        ms=1.0625, result=result, result_size=len(result),
    )  # fmt: skip
    return begun, ended


async def record(audit: AuditLog, calls: int) -> float:
    """Record *calls* calls; return the seconds it took."""
    pairs = [call(number) for number in range(calls)]
    began = time.process_time()
    for begun, ended in pairs:
        await audit.record(begun)
        await audit.record(ended)
    return time.process_time() - began


async def take_in(audit: AuditLog) -> tuple[float, float]:
    """Take in what was recorded; return the seconds it took, and the longest wait of others."""
    took = longest = 0.0

    async def want_a_turn() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await anyio.sleep(0.001)
            longest = max(longest, time.monotonic() - before - 0.001)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(want_a_turn)
        await anyio.lowlevel.checkpoint()
        began = time.process_time()
        await audit.flush()
        took = time.process_time() - began
        tasks.cancel_scope.cancel()
    return took, longest


async def measure(url: str, folder: Path, *, calls: int, wave: int) -> Cost:
    """Record *calls* calls and take them in, *wave* at a time."""
    journal, database, waits = 0.0, 0.0, list[float]()
    async with open_database(url) as opened:
        audit = AuditLog(opened, Journal(folder), durability="process", signer=NoKeys())
        for _ in range(calls // wave):
            journal += await record(audit, wave)
            took, wait = await take_in(audit)
            database += took
            waits.append(wait)
        await audit.close()
    each = 1e6 / (calls // wave * wave)
    wait = statistics.median(waits) * 1e6
    return Cost(journal=journal * each, database=database * each, wait=wait)


def main() -> None:
    """Print the least of every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="", help="URL; without it SQLite in a new folder")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--wave", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    async def one_round() -> Cost:
        with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
            url = options.database or default_url(Path(name))
            return await measure(url, Path(name), calls=options.calls, wave=options.wave)

    costs = [
        anyio.run(one_round, backend_options={"use_uvloop": True}) for _ in range(options.rounds)
    ]
    print(f"journal, two lines    {min(cost.journal for cost in costs):>8.1f} us a call")
    print(f"into the database     {min(cost.database for cost in costs):>8.1f} us a call")
    print(f"longest wait          {min(cost.wait for cost in costs):>8.0f} us")


if __name__ == "__main__":
    main()
