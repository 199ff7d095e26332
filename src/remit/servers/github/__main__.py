"""Run the GitHub server over stdio: `GITHUB_TOKEN=… python -m remit.servers.github`."""

import sys

from remit.servers.github.server import open_server
from remit.servers.stdio import run_server

if __name__ == "__main__":
    sys.exit(run_server(open_server))
