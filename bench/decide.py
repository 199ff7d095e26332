"""What a decision costs, cold and remembered, at 10, 1,000 and 100,000 rules.

    python bench/decide.py

One declaration each, with the rules spread over roles, agent types' servers and grants, names and
patterns alike. Cold: every question is new. Remembered: the same questions again. Loading is the
whole way from the file to the compiled snapshot. Times are of the processor alone, and the least of
several rounds, so that whatever else the machine does matters little.
"""

import gc
import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from remit.admin.declaration import load_declaration
from remit.model.principals import AgentType, Principal, PrincipalKind, UserRole
from remit.model.tools import ToolId
from remit.policy.engine import decide
from remit.policy.snapshot import PolicySnapshot, compile_snapshot

SIZES = (10, 1_000, 100_000)
QUESTIONS = 2_000
ROUNDS = 10
LONGEST_LOAD = 5.0
"""Seconds in which 100,000 rules must load."""
DEAREST = 10.0
"""Microseconds that a new question may cost."""

SERVERS = [f"server{number}" for number in range(20)]


def document(rules: int) -> dict[str, object]:
    """Return a declaration of *rules* rules: half names, a quarter patterns, a quarter grants."""
    many = max(rules // 100, 1)
    roles: dict[str, dict[str, object]] = {}
    for number in range(min(many, 200)):
        share = rules // min(many, 200)
        server = SERVERS[number % len(SERVERS)]
        roles[f"role{number}"] = {
            "tools": {server: [f"tool_{at}" for at in range(share // 2)]},
            "allow": [f"{server}/get_{at}_*" for at in range(share // 8)],
            "deny": [f"*/drop_{at}_*" for at in range(share // 8)],
        }
    grants = [
        {"user": f"user{at % 50}", "effect": "deny", "tool": f"{SERVERS[at % 20]}/secret_{at}_*"}
        for at in range(rules // 4)
    ]
    servers = {name: {"command": "true"} for name in (*SERVERS, "data", "mail")}
    return {"version": "1.0", "mcp_servers": servers, "roles": roles, "grants": grants}


def callers(roles: int) -> list[Principal]:
    """Return users with a few hats each, every one in roles of its own."""
    return [
        Principal(
            kind=PrincipalKind.USER,
            name=f"user{number}",
            roles=(f"role{number % roles}", f"role{(number * 7 + 1) % roles}"),
            user_roles=(UserRole.USER,) if number % 2 else (),
            agent_type=AgentType.WORKER if number % 3 == 0 else None,
        )
        for number in range(50)
    ]


def ask(snapshot: PolicySnapshot, who: list[Principal], tools: list[ToolId]) -> float:
    """Ask every question once; return microseconds a decision."""
    start = time.thread_time()
    for at, tool in enumerate(tools):
        decide(snapshot, who[at % len(who)], tool)
    return (time.thread_time() - start) / len(tools) * 1e6


def measure(rules: int, folder: Path) -> tuple[float, float, float]:
    """Return seconds to load, and microseconds a decision, cold and remembered."""
    path = folder / f"{rules}.yaml"
    path.write_text(json.dumps(document(rules)))
    start = time.thread_time()
    declaration = load_declaration(path).declaration
    compile_snapshot(declaration, tenant="default", revision=1, now=datetime.now(UTC))
    seconds = time.thread_time() - start
    who = callers(len(declaration.roles))
    kinds = ("tool_{}", "get_{}_x", "drop_{}_x", "secret_{}_x", "other_{}")
    tools = [
        ToolId(SERVERS[at % len(SERVERS)], kinds[at % len(kinds)].format(at))
        for at in range(QUESTIONS)
    ]
    cold: list[float] = []
    remembered: list[float] = []
    for _ in range(ROUNDS):
        snapshot = compile_snapshot(declaration, tenant="default", revision=1)
        gc.collect()
        cold.append(ask(snapshot, who, tools))
        remembered.append(ask(snapshot, who, tools))
    return seconds, min(cold), min(remembered)


def main() -> int:
    """Print one table; exit 1 when something loads too slowly or a question costs too much."""
    print(f"{'rules':>8}  {'load s':>7}  {'cold us':>8}  {'remembered us':>13}")
    slowest = dearest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for rules in SIZES:
            seconds, cold, remembered = measure(rules, Path(folder))
            slowest, dearest = max(slowest, seconds), max(dearest, cold)
            print(f"{rules:>8,}  {seconds:>7.2f}  {cold:>8.2f}  {remembered:>13.2f}")
    return int(slowest > LONGEST_LOAD or dearest > DEAREST)


if __name__ == "__main__":
    raise SystemExit(main())
