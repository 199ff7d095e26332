"""`remit`, and `python -m remit`.

glibc gives each thread an arena of malloc, and what a gateway's threads have left in theirs stays:
2 to 5 MiB of a process under load. It keeps another 2 to 4 for good once a large piece was freed,
unless it is told when to give back what is free. Both are read when a process begins; so a gateway
begins anew, as the same process, before it has imported anything.
"""

import os
import sys
from contextlib import suppress

ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": str(128 * 1024)}
"""glibc's variables and what a gateway runs with; workers have them from their supervisor."""


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:2] == ["serve"] and not ALLOCATOR.keys() <= os.environ.keys():
        os.environ.update(ALLOCATOR | os.environ)
        with suppress(OSError):  # it goes on as it is
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself

    from remit.cli.main import main as run  # noqa: PLC0415 - see above

    run()


if __name__ == "__main__":
    main()
