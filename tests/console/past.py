"""What has happened before the gateway starts: a day of calls, so that charts have a shape."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from remit.app.installation import open_installation
from remit.model.events import AuditEvent, EventKind
from remit.settings import Settings
from remit.storage.insertion import insert_events
from remit.testing.fakes import sample_event

CALLS = 400
CALLERS = (
    ("key:ci", "backend_developer"),
    ("key:web", "frontend_developer"),
    ("key:lead", "tech_lead"),
    ("user:omar", "devops_engineer"),
)
GOOD = (
    ("git", "git_status", 4.0),
    ("git", "git_diff", 9.0),
    ("git", "git_log", 7.0),
    ("github", "search_code", 180.0),
    ("github", "get_pull_request", 120.0),
    ("deploy", "list_services", 25.0),
)
"""Server, tool, and about how many milliseconds it takes."""

DENIED = (("git", "git_merge"), ("github", "merge_pull_request"), ("deploy", "deploy_service"))


async def remember(settings: Settings) -> None:
    """Write the calls of the day before now into the database of an installation."""
    async with open_installation(settings, author="serve") as installation:
        events = list(_events(datetime.now(UTC)))
        async with installation.database.writing() as connection:
            await connection.run_sync(insert_events, events, are_new=lambda: True)


def _events(now: datetime) -> Iterator[AuditEvent]:
    chosen = random.Random(10)  # noqa: S311 - the same day each time, and no secret
    # most of it within the last hour, and every one at a time of its own
    ago = sorted({round(chosen.expovariate(1 / 1500), 2) + 1 for _ in range(CALLS)}, reverse=True)
    for seconds in ago:
        time = now - timedelta(seconds=min(seconds, 86_000))
        principal, role = chosen.choice(CALLERS)
        number = int(time.timestamp() * 1000)
        common: dict[str, Any] = {"time": time, "principal": principal, "role": role}
        common["call_id"] = f"req-{number}"
        if chosen.random() < 0.12:
            server, tool = chosen.choice(DENIED)
            yield _denied(number, server, tool, common)
        else:
            server, tool, ms = chosen.choice(GOOD)
            took = round(chosen.lognormvariate(0, 0.5) * ms, 1)
            yield from _ran(number, server, tool, took, is_good=chosen.random() < 0.94, **common)


def _denied(number: int, server: str, tool: str, common: dict[str, Any]) -> AuditEvent:
    changes = {
        "kind": EventKind.REFUSED,
        "server": server,
        "tool": tool,
        "decision": "deny",
        "layer": "ceiling",
        "rule": "",
        "outcome": "none",
        "code": "PERMISSION_DENIED",
        "ms": 0.3,
        "result": None,
        "result_size": 0,
        "error": f"{common['role']} has no grant of {server}/{tool}",
    }
    return sample_event(number * 4, **(common | changes | {"id": _id(number, 0)}))


def _ran(
    number: int, server: str, tool: str, ms: float, *, is_good: bool, **common: Any
) -> Iterator[AuditEvent]:
    rule = f"roles.{common['role']}.tools.{server}"
    done = sample_event(number, **common, server=server, tool=tool, rule=rule, ms=ms)
    yield structs.replace(
        done, id=_id(number, 0), kind=EventKind.INVOKED, outcome="unknown", ms=0.0, result=None,
        result_size=0,
    )  # fmt: skip
    if is_good:
        yield structs.replace(done, id=_id(number, 1))
    else:
        yield structs.replace(
            done, id=_id(number, 1), outcome="error", code="UPSTREAM_TIMEOUT", result=None,
            error=f"{server} did not answer within 30 s",
        )  # fmt: skip


def _id(milliseconds: int, place: int) -> str:
    """Return an id that sorts by time, and by *place* among those of one millisecond."""
    return sample_event(milliseconds).id[:-1] + str(place)
