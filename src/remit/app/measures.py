"""Every measure that `/metrics` has: its name, its labels, and what it is.

Labels have few values: tenants and servers are those that administrators declared, the rest are
words of the contract. No label holds a tool, a principal or anything else that a caller chooses.
docs/observability.md describes each one, and a test compares.
"""

from typing import Final

from remit.model.measures import Measure

BUILD: Final = Measure(
    name="remit_build_info",
    kind="gauge",
    help="Always 1; the labels say what runs.",
    labels=("version", "python"),
)
CALLS: Final = Measure(
    name="remit_calls_total",
    kind="counter",
    help="Calls that are over, as the record has them.",
    labels=("tenant", "server", "decision", "outcome", "code"),
)
DENIALS: Final = Measure(
    name="remit_denials_total",
    kind="counter",
    help="Calls that policy refused, by the layer that did.",
    labels=("tenant", "layer"),
)
LIMITED: Final = Measure(
    name="remit_limited_calls_total",
    kind="counter",
    help="Calls that were refused since a limit had no room.",
    labels=("tenant", "server"),
)
DURATION: Final = Measure(
    name="remit_call_duration_seconds",
    kind="histogram",
    help="Time from the door to the outcome of calls that ran.",
    labels=("tenant", "server"),
)
IN_FLIGHT: Final = Measure(
    name="remit_calls_in_flight",
    kind="gauge",
    help="Calls that run at this moment.",
    labels=("tenant", "server"),
)
RETRIES: Final = Measure(
    name="remit_retries_total",
    kind="counter",
    help="Attempts beyond the first of their call.",
    labels=("tenant", "server"),
)
UNRECORDED: Final = Measure(
    name="remit_unrecorded_total",
    kind="counter",
    help="Calls refused, or outcomes lost, since the audit could not be written.",
    labels=("tenant",),
)
BACKLOG: Final = Measure(
    name="remit_audit_backlog_bytes",
    kind="gauge",
    help="What this process's journal holds that is not in the database yet.",
)
NOT_ADMITTED: Final = Measure(
    name="remit_not_admitted_total",
    kind="counter",
    help="Requests whose credential opened no door.",
    labels=("reason",),
)
SERVER_STATE: Final = Measure(
    name="remit_server_state",
    kind="gauge",
    help="1 for the state that a server is in, 0 for the others.",
    labels=("tenant", "server", "state"),
)
SERVER_TOOLS: Final = Measure(
    name="remit_server_tools",
    kind="gauge",
    help="Tools that a server offers.",
    labels=("tenant", "server"),
)
SERVER_FAILURES: Final = Measure(
    name="remit_server_failures",
    kind="gauge",
    help="Attempts to connect that failed and are not forgotten yet; the circuit counts them.",
    labels=("tenant", "server"),
)
CONNECTIONS: Final = Measure(
    name="remit_server_connections",
    kind="gauge",
    help="Connections to a server that are open or being opened.",
    labels=("tenant", "server"),
)
CHILDREN: Final = Measure(
    name="remit_server_children",
    kind="gauge",
    help="Child processes that run for a server.",
    labels=("tenant", "server"),
)
CHILD_MEMORY: Final = Measure(
    name="remit_server_memory_bytes",
    kind="gauge",
    help="Memory of a server's child processes with all that they started.",
    labels=("tenant", "server"),
)
REVISION: Final = Measure(
    name="remit_policy_revision",
    kind="gauge",
    help="The revision of the declaration that is in force.",
    labels=("tenant",),
)
ALERTS: Final = Measure(
    name="remit_alerts_opened_total",
    kind="counter",
    help="Alerts on what callers do with data that this process opened.",
    labels=("tenant", "severity"),
)
MEMORY: Final = Measure(
    name="process_resident_memory_bytes",
    kind="gauge",
    help="Memory of the process, without its children.",
)
CPU: Final = Measure(
    name="process_cpu_seconds_total",
    kind="counter",
    help="Processor time of the process, without its children.",
)
DESCRIPTORS: Final = Measure(
    name="process_open_fds",
    kind="gauge",
    help="Open file descriptors of the process.",
)
MOST_DESCRIPTORS: Final = Measure(
    name="process_max_fds",
    kind="gauge",
    help="How many file descriptors the process may have open.",
)

ALL: Final = (
    BUILD,
    CALLS,
    DENIALS,
    LIMITED,
    DURATION,
    IN_FLIGHT,
    RETRIES,
    UNRECORDED,
    BACKLOG,
    NOT_ADMITTED,
    SERVER_STATE,
    SERVER_TOOLS,
    SERVER_FAILURES,
    CONNECTIONS,
    CHILDREN,
    CHILD_MEMORY,
    REVISION,
    ALERTS,
    MEMORY,
    CPU,
    DESCRIPTORS,
    MOST_DESCRIPTORS,
)
