"""Run the git server over stdio: `python -m remit.servers.git --repository PATH`."""

import sys

from remit.servers.git.server import open_server
from remit.servers.stdio import run_server

if __name__ == "__main__":
    sys.exit(run_server(open_server))
