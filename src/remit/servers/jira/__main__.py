"""Run the Jira server over stdio: `python -m remit.servers.jira [--read-only]`."""

import sys

from remit.servers.jira.server import open_server
from remit.servers.stdio import run_server

if __name__ == "__main__":
    sys.exit(run_server(open_server))
