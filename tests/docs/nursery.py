"""`remit` without its start-up time: one process imports it once and forks for every command.

    a script called remit ──arguments, folder, environment, three files──▶ nursery ──fork──▶ command
          ◀───────────────────── process id, exit status ──────────────────────────────────────┘

Run as `python nursery.py SOCKET`; it ends with its standard input.
"""

import json
import os
import selectors
import signal
import socket
import sys
from pathlib import Path

from remit.cli.main import Commands, main

LARGEST = 1 << 18

SCRIPT = """#!{python} -IS
import json, os, signal, socket, sys
nursery = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
nursery.connect({address!r})
order = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(nursery, [order], [0, 1, 2])
pid = int(nursery.recv(32))
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: os.kill(pid, number))
sys.exit(int(nursery.recv(32) or b"1"))
"""


def write_script(folder: Path, address: str) -> None:
    """Put a command called `remit` into *folder* that the nursery at *address* runs."""
    script = folder / "remit"
    script.write_text(SCRIPT.format(python=sys.executable, address=address))
    script.chmod(0o755)


def serve(address: str) -> None:
    """Fork for every order until standard input ends."""
    for entry in Commands.table:
        entry.load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
        selectors.DefaultSelector() as ready,
    ):
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)  # noqa: T201 - whoever started us waits for it
        ready.register(listener, selectors.EVENT_READ)
        ready.register(0, selectors.EVENT_READ)
        while all(key.fileobj is listener for key, _ in ready.select()):
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    # Taking the interpreter down in order would take longer than most commands.
                    os._exit(_run(connection))


def _run(connection: socket.socket) -> int:
    """Be the command that is ordered, and return its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    connection.sendall(b"%d" % os.getpid())
    order, files, _, _ = socket.recv_fds(connection, LARGEST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.argv, folder, environment = json.loads(order)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = 0
    try:
        main()
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(b"%d" % status)
    return status


if __name__ == "__main__":
    serve(sys.argv[1])
