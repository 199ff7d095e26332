"""Starts ContextForge with the bench's upstream registered: `python -m bench.contextforge PORT`.

It learns of servers by its API only, so a process of its own registers the upstream once the
gateway answers, and ends; the gateway takes the place of this one. Database and secrets are new
each time. Authentication is off, as is everything that it can do without.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from bench.kit import CACHE, UPSTREAM_PORT

PROGRAM = CACHE / "venvs" / "contextforge" / "bin" / "mcpgateway"
START_LIMIT = 90.0
BETWEEN = 0.05
OFF = (
    "AUTH_REQUIRED",
    "MCP_REQUIRE_AUTH",
    "MCPGATEWAY_UI_ENABLED",
    "MCPGATEWAY_ADMIN_API_ENABLED",
    "PLUGINS_ENABLED",
    "OBSERVABILITY_ENABLED",
    "RATE_LIMITING_ENABLED",
)
ON = ("ALLOW_UNAUTHENTICATED_ADMIN", "SSRF_ALLOW_LOCALHOST", "SSRF_ALLOW_PRIVATE_NETWORKS")


def serve(port: str) -> None:
    """Become the gateway."""
    folder = tempfile.mkdtemp(prefix="remit-bench-contextforge-")
    environ = {
        **os.environ,
        **dict.fromkeys(OFF, "false"),
        **dict.fromkeys(ON, "true"),
        "DATABASE_URL": f"sqlite:///{folder}/gateway.db",
        "JWT_SECRET_KEY": secrets.token_urlsafe(48),
        "AUTH_ENCRYPTION_SECRET": secrets.token_urlsafe(48),
        "PLATFORM_ADMIN_PASSWORD": f"Aa1-{secrets.token_urlsafe(24)}",
        "BASIC_AUTH_PASSWORD": f"Aa1-{secrets.token_urlsafe(24)}",
        "LOG_LEVEL": "ERROR",
    }
    subprocess.Popen([sys.executable, "-m", "bench.contextforge", port, "register"])
    os.chdir(folder)
    command = [str(PROGRAM), "--host", "127.0.0.1", "--port", port]
    os.execve(PROGRAM, command, environ)  # noqa: S606 - it is what is measured, not this


def register(port: str) -> None:
    """Tell the gateway of the upstream, as soon as it listens."""
    server = {
        "name": "up",
        "url": f"http://127.0.0.1:{UPSTREAM_PORT}/mcp",
        "transport": "STREAMABLEHTTP",
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/gateways",
        json.dumps(server).encode(),
        {"content-type": "application/json"},
    )
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        try:
            with urllib.request.urlopen(request, timeout=START_LIMIT):  # noqa: S310 - loopback
                return
        except urllib.error.HTTPError as error:
            sys.exit(f"not registered: {error.read().decode()[:300]}")
        except OSError:
            time.sleep(BETWEEN)  # noqa: TID251 - a script that waits for another program


if __name__ == "__main__":
    (register if "register" in sys.argv else serve)(sys.argv[1])
