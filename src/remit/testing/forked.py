"""Commands of remit as processes that begin with everything imported.

    a test ──words, folder, environment, files──▶ a process that has imported every command
                                                    └─fork─▶ the command, in one of its own

Most of what a short command takes is what it imports, and tests run hundreds of them.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NoReturn

import remit

_LONGEST: Final = 1 << 17
"""Bytes of a request."""


class Forks:
    """Runs commands one at a time; a second one meanwhile has to start for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def run(
        self, arguments: Sequence[str], folder: Path, environ: Mapping[str, str], within: float
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a command to its end; None where another one is under way.

        Raises:
            subprocess.TimeoutExpired: It did not end within so many seconds, and is killed.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._run(arguments, folder, environ, within)
        finally:
            self._lock.release()

    def _run(
        self, arguments: Sequence[str], folder: Path, environ: Mapping[str, str], within: float
    ) -> subprocess.CompletedProcess[str]:
        line = self._opened()
        request = {"arguments": list(arguments), "folder": str(folder), "environ": dict(environ)}
        with _file() as out, _file() as err:
            with Path(os.devnull).open("rb") as nothing:
                files = [nothing.fileno(), out.fileno(), err.fileno()]
                socket.send_fds(line, [json.dumps(request).encode()], files)
            pid = int(line.recv(_LONGEST))
            has_ended, _, _ = select.select([line], [], [], within)
            if not has_ended:
                os.kill(pid, signal.SIGKILL)
                line.recv(_LONGEST)
                raise subprocess.TimeoutExpired(list(arguments), within)
            status = int(line.recv(_LONGEST))
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(list(arguments), status, out.read(), err.read())

    def _opened(self) -> socket.socket:
        if self._line is None or self._owner != os.getpid():
            self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._owner = os.getpid()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            atexit.register(self._close)
        return self._line

    def _close(self) -> None:
        if self._line is not None and self._process is not None and self._owner == os.getpid():
            self._line.close()  # which ends it
            self._process.wait()


def _file() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def _serve(line: socket.socket) -> None:
    """Fork a command for each request until nobody is there any more."""
    _import_everything()
    while True:
        said, files, _, _ = socket.recv_fds(line, _LONGEST, 3)
        if not said:
            return
        pid = os.fork()
        if pid == 0:
            line.close()
            _become(json.loads(said), files)
        for file in files:
            os.close(file)
        line.send(str(pid).encode())
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _import_everything() -> None:
    from remit.cli.main import Commands  # noqa: PLC0415 - in this process alone

    for entry in Commands.table:
        entry.load()
    gc.collect()
    gc.freeze()


def _become(request: Mapping[str, Any], files: Sequence[int]) -> NoReturn:
    """Be the command."""
    status: object = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environ"])
        sys.argv = [str(Path(remit.__file__).with_name("__main__.py")), *request["arguments"]]
        sys.modules["__main__"].__package__ = "remit"
        from remit.cli.main import main  # noqa: PLC0415 - imported already

        main()
        status = 0
    except SystemExit as ended:
        status = ended.code
    except Exception:  # noqa: BLE001 - what Python says of a program that fails
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
