"""`remit`, and `python -m remit`.

glibc gives each thread an arena of malloc, and what a gateway's threads have left in theirs stays:
2 to 5 MiB of a process under load. How many arenas there are is read when a process begins; so a
gateway begins anew, as the same process, before it has imported anything.
"""

import os
import sys
from contextlib import suppress

ARENAS = "MALLOC_ARENA_MAX"
"""The variable that says how many; workers have it from their supervisor."""


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1:2] == ["serve"] and ARENAS not in os.environ:
        os.environ[ARENAS] = "1"
        with suppress(OSError):  # it goes on as it is
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - itself

    from remit.cli.main import main as run  # noqa: PLC0415 - see above

    run()


if __name__ == "__main__":
    main()
