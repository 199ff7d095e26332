"""A server that has to be killed."""

from pathlib import Path
from typing import Any

from remit.testing.gateway import fixture_entry

_PROGRAM = """\
import signal, threading
from remit.testing.upstream import main
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    main()
finally:
    threading.Event().wait()
"""


def deaf_entry(folder: Path) -> dict[str, Any]:
    """Return the entry of a server that is deaf to the end of its input and to SIGTERM.

    Its one tool, `endless`, never answers.
    """
    program = folder / "deaf.py"
    program.write_text(_PROGRAM)
    entry = fixture_entry([{"name": "endless", "x-fixture": {"silent": True}}], folder / "ran")
    return entry | {"args": [str(program), *entry["args"][2:]]}
