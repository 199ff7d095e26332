"""How long every page of the console takes, with many rows, tools and roles behind it.

    python -m bench.console                     # 100,000 rows, 500 tools, 50 roles; a minute
    python -m bench.console --rows 1000000 --times 30

An administrator is signed in and asks for one page after the other, in turns, over one connection.
Every answer has to be the page itself. Milliseconds: the median wait, whose budget is 300, the
slowest one, and the gateway's own processor time for a page, which others on the machine do not
change.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx2
from bench.kit import KIT
from bench.processes import BenchError, usage
from bench.scale import Installed, Size, installed

from remit.doors.console.pages import PAGES

BUDGET: Final = 300.0
"""Milliseconds that the median of a page may take."""

SIGN_IN: Final = "/console/sign-in"
_CSRF: Final = re.compile(r'name="csrf" value="([^"]*)"')

DEEPER: Final[Mapping[str, str]] = {
    "access, keys": "/access?kind=key",
    "access, denied": "/access?decision=deny",
    "access, who can": "/access/who-can?tool=s000/echo",
    "access, what if": "/access/what-if?as=role:bench&tool=s000/echo",
}
"""Pages with a query that is more work than the page as it opens."""


@contextmanager
def signed_in(one: Installed) -> Generator[httpx2.Client]:
    """Give a client with the administrator's session."""
    base = f"http://127.0.0.1:{one.port}"
    with httpx2.Client(base_url=base, timeout=60) as http:
        form = _CSRF.search(http.get(SIGN_IN).text)
        if form is None:
            raise BenchError("the sign-in has no form")
        done = http.post(SIGN_IN, data={"csrf": form[1], "next": "", "key": one.admin})
        if done.status_code != 303:
            raise BenchError(f"signing in answers {done.status_code}")
        yield http


@dataclass(slots=True)
class Cost:
    """Milliseconds of one page: each wait, and the processor's time for all of them."""

    waits: list[float] = field(default_factory=list[float])
    cpu: float = 0.0


def measure(http: httpx2.Client, pid: int, times: int) -> dict[str, Cost]:
    """Return what every page costs, asked for *times* times after once that warms up."""
    paths = {page.key: page.path for page in PAGES} | DEEPER
    costs = {key: Cost() for key in paths}
    for turn in range(times + 1):
        for key, path in paths.items():
            began, spent = time.perf_counter(), usage(pid).cpu
            reply = http.get(f"/console{path}")
            took = (time.perf_counter() - began) * 1000
            if reply.status_code != 200 or "</html>" not in reply.text:
                raise BenchError(f"{path} answers {reply.status_code}: {reply.text[:300]}")
            if turn:
                costs[key].waits.append(took)
                costs[key].cpu += (usage(pid).cpu - spent) * 1000
    return costs


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--tools", type=int, default=500)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--roles", type=int, default=50)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    given = vars(parser.parse_args())
    if not KIT.is_dir():
        sys.exit(f"the bench kit is not at {KIT}: set REMIT_SHARED")
    numbers = ("tools", "servers", "roles", "keys", "rows")
    size = Size(name="console", **{name: given[name] for name in numbers})
    with (
        TemporaryDirectory(prefix="remit-console-") as folder,
        installed(size, Path(folder) / size.name) as one,
        signed_in(one) as http,
    ):
        costs = measure(http, one.pid, given["times"])
    medians = {key: statistics.median(cost.waits) for key, cost in costs.items()}
    cpu = {key: cost.cpu / given["times"] for key, cost in costs.items()}
    if given["json"]:
        print(json.dumps({"ms": medians, "cpu_ms": cpu}))
        return
    print(f"{'page':<20} {'median ms':>10} {'slowest':>10} {'CPU ms':>10}")
    for key, median in medians.items():
        print(f"{key:<20} {median:>10.1f} {max(costs[key].waits):>10.1f} {cpu[key]:>10.1f}")
    slow = [key for key, median in medians.items() if median > BUDGET]
    if slow:
        sys.exit(f"slower than {BUDGET:.0f} ms: {', '.join(slow)}")


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
