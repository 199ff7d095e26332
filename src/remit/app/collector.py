"""From what an open gateway has counted to the families of `/metrics`, made when it is asked."""

import os
import platform
import resource
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import Final

from anyio import to_thread

from remit.app import measures
from remit.app.gateway import Gateway
from remit.app.tenants import ServedTenant
from remit.calls.tally import BOUNDS, Durations
from remit.doors.refusals import Refusals
from remit.model.alerts import Severity
from remit.model.measures import Family, Measure, Sample
from remit.model.servers import ServerState
from remit.upstreams.memory import memory_by_group

_LIMITED: Final = "LIMIT_REACHED"
_NO_LAYER: Final = "unknown"

Labels = Mapping[str, str]
Told = tuple[Measure, Sample]
"""One number, and what it is of."""


class Collector:
    """Collects what this process knows.

    Args:
        gateway: Open.
        refusals: What the doors turned away.
        worker: The number of this process among the workers, `1` where it is the only one.
    """

    def __init__(self, gateway: Gateway, refusals: Refusals, *, worker: str) -> None:
        self._gateway = gateway
        self._refusals = refusals
        self._worker = worker

    async def collect(self) -> Sequence[Family]:
        """Return every measure with its numbers, in the order of `measures.ALL`."""
        has_children = any(status.processes for status in self._gateway.tenants.statuses())
        own, memory = await to_thread.run_sync(_looked_up, has_children)
        found: dict[str, list[Sample]] = {measure.name: [] for measure in measures.ALL}
        for measure, sample in self._told(own, memory):
            labels = {**sample.labels, "worker": self._worker}
            found[measure.name].append(
                Sample(labels=labels, value=sample.value, suffix=sample.suffix)
            )
        return [
            Family(measure=measure, samples=tuple(found[measure.name])) for measure in measures.ALL
        ]

    def _told(self, own: Sequence[Told], memory: Mapping[int, int]) -> Iterator[Told]:
        yield _told(measures.BUILD, 1, version=version("remit"), python=platform.python_version())
        yield _told(measures.BACKLOG, self._gateway.audit.backlog)
        for reason, count in self._refusals.by_reason.items():
            yield _told(measures.NOT_ADMITTED, count, reason=reason)
        yield from own
        for served in self._gateway.tenants.all_served():
            yield from _of_calls(served)
            yield from _of_servers(served, memory)


def _of_calls(served: ServedTenant) -> Iterator[Told]:
    tenant, tally = served.tenant.name, served.tally
    calls, denials, limited = Counter[_Key](), Counter[str](), Counter[str]()
    for end, count in tally.ends().items():
        calls[end.server, end.decision, end.outcome, end.code] += count
        if end.decision == "deny":
            denials[end.layer or _NO_LAYER] += count
        elif end.code == _LIMITED:
            limited[end.server] += count
    for (server, decision, outcome, code), count in calls.items():
        yield _told(
            measures.CALLS,
            count,
            tenant=tenant,
            server=server,
            decision=decision,
            outcome=outcome,
            code=code,
        )
    for layer, count in denials.items():
        yield _told(measures.DENIALS, count, tenant=tenant, layer=layer)
    for server, count in limited.items():
        yield _told(measures.LIMITED, count, tenant=tenant, server=server)
    for server, durations in tally.durations.items():
        yield from _histogram(measures.DURATION, durations, tenant=tenant, server=server)
    # From zero on, so that the first of them is a change that Prometheus sees.
    for server in {*served.fleet.upstreams, *tally.running, *tally.retries}:
        yield _told(measures.IN_FLIGHT, tally.running.get(server, 0), tenant=tenant, server=server)
        yield _told(measures.RETRIES, tally.retries.get(server, 0), tenant=tenant, server=server)
    yield _told(measures.UNRECORDED, tally.unrecorded, tenant=tenant)
    yield _told(measures.REVISION, served.policy.revision, tenant=tenant)
    for severity in Severity:
        count = tally.alerts.get(severity.value, 0)
        yield _told(measures.ALERTS, count, tenant=tenant, severity=severity.value)


_Key = tuple[str, str, str, str]


def _of_servers(served: ServedTenant, memory: Mapping[int, int]) -> Iterator[Told]:
    tenant = served.tenant.name
    for status in served.fleet.statuses():
        for state in ServerState:
            yield _told(
                measures.SERVER_STATE,
                int(status.state is state),
                tenant=tenant,
                server=status.name,
                state=state.value,
            )
        numbers = {
            measures.SERVER_TOOLS: status.tools,
            measures.SERVER_FAILURES: status.failures,
            measures.CONNECTIONS: status.connections,
            measures.CHILDREN: len(status.processes),
            measures.CHILD_MEMORY: sum(memory.get(pid, 0) for pid in status.processes),
        }
        for measure, number in numbers.items():
            yield _told(measure, number, tenant=tenant, server=status.name)


def _looked_up(has_children: bool) -> tuple[Sequence[Told], Mapping[int, int]]:
    """Return what the system says of this process, and the bytes of each process group.

    It reads files, all of `/proc` where there are children, and so is for a thread.
    """
    return list(_process()), memory_by_group() if has_children else {}


def _process() -> Iterator[Told]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield _told(measures.CPU, used.ru_utime + used.ru_stime)
    yield _told(measures.MOST_DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    about = Path("/proc/self")
    if about.is_dir():  # Linux; elsewhere these two are left out
        pages = int((about / "statm").read_text().split()[1])
        yield _told(measures.MEMORY, pages * resource.getpagesize())
        yield _told(measures.DESCRIPTORS, len(os.listdir(about / "fd")))  # noqa: PTH208 - a count


def _told(measure: Measure, value: float, **labels: str) -> Told:
    return measure, Sample(labels=labels, value=value)


def _histogram(measure: Measure, durations: Durations, **labels: str) -> Iterator[Told]:
    bounds = [*(str(bound) for bound in BOUNDS), "+Inf"]
    count = 0
    for bound, count in zip(bounds, accumulate(durations.classes), strict=True):
        yield measure, Sample(labels={**labels, "le": bound}, value=count, suffix="_bucket")
    yield measure, Sample(labels=labels, value=durations.seconds, suffix="_sum")
    yield measure, Sample(labels=labels, value=count, suffix="_count")
