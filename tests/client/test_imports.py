"""The client fits into any environment: it needs three packages and little of remit."""

import json
import subprocess
import sys

NEEDED = {"anyio", "httpx2", "msgspec", "remit"}
OWN = ("remit.client", "remit.errors", "remit.model")
FOREIGN = {
    "pydantic",
    "mcp",
    "mcp_types",
    "fastapi",
    "starlette",
    "sqlalchemy",
    "structlog",
    "yaml",
}

PROGRAM = """
import importlib, json, pkgutil, sys
before = set(sys.modules)
import remit.client
idle = sorted(set(sys.modules) - before)
for module in pkgutil.iter_modules(remit.client.__path__, "remit.client."):
    importlib.import_module(module.name)
print(json.dumps([idle, sorted(set(sys.modules) - before)]))
"""


def test_the_client_imports_what_it_needs_when_it_is_needed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    idle, loaded = json.loads(done.stdout)

    roots = {name.partition(".")[0] for name in loaded}
    assert [name for name in idle if name.startswith("remit")] == ["remit", "remit.client"]
    assert not {"httpx2", "anyio", "msgspec"} & set(idle)
    assert roots >= NEEDED
    assert not roots & FOREIGN
    assert all(
        name == "remit" or name.startswith(OWN) for name in loaded if name.startswith("remit")
    )


def test_the_help_of_the_commands_waits_for_no_client() -> None:
    program = "import sys; sys.argv = ['remit', '--help']\n"
    program += "from remit.cli.main import main\n"
    program += "try:\n    main()\nexcept SystemExit:\n    pass\n"
    program += (
        "print([name for name in sys.modules if name.startswith(('remit.client', 'httpx2'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "[]"
