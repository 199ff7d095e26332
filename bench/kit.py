"""The handed bench kit: where it is, its upstream, its load generator, its table of peers.

Nothing of it is copied; it is run, or read, where `REMIT_SHARED` says (default `../shared`).
"""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import util
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
CACHE = REPOSITORY / ".bench"
"""Environments of peers, configurations and logs; git ignores it."""

KIT = Path(os.environ.get("REMIT_SHARED", REPOSITORY.parent / "shared")).absolute() / "bench"
UPSTREAM_PORT = 9001
"""Where the kit's configurations of peers expect the upstream."""

NGINX_PORT = 9170
"""Where the kit's nginx listens."""

FAST_UPSTREAM: Sequence[str] = (sys.executable, str(KIT / "upstream" / "fast_upstream.py"))
STDIO_UPSTREAM: Sequence[str] = (sys.executable, str(KIT / "upstream" / "stdio_upstream.py"))
LOADGEN: Sequence[str] = (sys.executable, str(KIT / "loadgen.py"))


def peers() -> Mapping[str, Mapping[str, Any]]:
    """Return the kit's targets, by name, with what they need in `CACHE`."""
    spec = util.spec_from_file_location("kit_targets", KIT / "targets.py")
    if spec is None or spec.loader is None:
        return {}
    module = util.module_from_spec(spec)
    os.environ["BENCH_OUT"] = str(CACHE)  # where it looks for the peers
    spec.loader.exec_module(module)
    return module.T


def nginx_configuration(upstream_port: int, port: int, folder: Path) -> str:
    """Return the kit's configuration of nginx, with these ports and files in *folder*."""
    text = (KIT / "peers" / "nginx.conf").read_text()
    for old, new in (
        ("@OUT@", str(folder)),
        (f"127.0.0.1:{UPSTREAM_PORT}", f"127.0.0.1:{upstream_port}"),
        (f"127.0.0.1:{NGINX_PORT}", f"127.0.0.1:{port}"),
    ):
        text = text.replace(old, new)
    return text
