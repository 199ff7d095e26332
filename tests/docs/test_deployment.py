"""`docs/deployment.md`: what it installs runs as the unit of systemd says.

Tests have no systemd of their own: the unit is verified, and its commands are run. What they
cannot have either is named in `tests/docs/server.py`.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from tests.docs.server import BLOCKS, Server, block, key_in, unit

from remit.cli.supervisor import STOPS_WITHIN
from remit.client.transport import TRUSTS_NOBODY
from remit.testing.gateway import Caller

pytestmark = pytest.mark.timeout(300)

UNIT = "# /etc/systemd/system/remit.service"
DECLARATION = "# /var/lib/remit/remit.yaml"

BEGINNINGS = (
    "export PATH=",
    "useradd ",
    DECLARATION,
    "cd /var/lib/remit",
    UNIT,
    "systemctl ",
    "# Containerfile",
    "docker build",
    "# /etc/nginx/conf.d/remit.conf",
    "$ remit serve",
)
"""Of every block: here, and in `test_in_container.py` and `test_behind_nginx.py`."""


def test_every_block_of_the_page_is_one_that_is_tried() -> None:
    pairs = zip(BLOCKS, BEGINNINGS, strict=True)

    assert [b.place for b, beginning in pairs if not b.text.startswith(beginning)] == []


def test_systemctl_is_asked_for_what_the_unit_offers() -> None:
    asked = [shlex.split(line) for line in block("systemctl ").text.splitlines()]

    assert ["systemctl", "reload", "remit"] in asked
    assert all(words[-1] in ("remit", "daemon-reload") for words in asked)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A machine on which everything was done that comes before the service."""
    made = Server(tmp_path_factory.mktemp("server"))
    path, venv, *install = block("export PATH=").text.splitlines()
    made.run(f"{path}\n{venv}")
    made.bring_packages()
    assert made.run("\n".join((path, *install))) == "remit 0.1.0\n"
    user, *folders = block("useradd ").text.splitlines()
    made.add_user(user)
    made.run("\n".join(folders))
    made.write(block(DECLARATION))
    printed = made.run(block("cd /var/lib/remit").text)
    assert "0 errors, 0 warnings" in printed
    made.key = key_in(printed)
    return made


def test_what_is_installed_needs_no_checkout_and_keeps_its_secrets(server: Server) -> None:
    python = server.root / "opt/remit/bin/python3"
    code = "import remit; print(remit.__file__)"
    where = subprocess.check_output([python, "-P", "-c", code], cwd=server.root, text=True)
    secrets = server.root / "etc/remit/remit.env"

    assert where.startswith(str(server.root))
    assert re.fullmatch(r"REMIT_MASTER_KEY=[0-9a-f]{64}\n", secrets.read_text())
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert server.state.stat().st_mode & 0o777 == 0o700
    assert (server.state / ".remit").stat().st_mode & 0o777 == 0o700


def test_systemd_takes_the_unit_as_it_is(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine")
    here = Server(tmp_path).here
    program = Path(here(unit()["ExecStart"]).split()[0])
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    written = tmp_path / "remit.service"
    written.write_text(here(block(UNIT).text))

    done = subprocess.run(
        ["systemd-analyze", "verify", written], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_unit_stops_no_server_before_remit_and_waits_until_remit_gives_up() -> None:
    service = unit()

    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > STOPS_WITHIN
    assert service["ExecStart"].startswith("/opt/remit/bin/remit serve")
    assert f"/var/lib/{service['StateDirectory']}" == service["WorkingDirectory"]


@pytest.mark.parametrize("workers", [1, 2])
async def test_the_service_serves_reads_its_file_again_and_ends(
    server: Server, workers: int
) -> None:
    service = unit()
    secrets = Path(server.here(service["EnvironmentFile"])).read_text().splitlines()
    given = [server.here(service["Environment"]), *secrets]
    environ = {"HOME": str(server.state), **dict(line.split("=", 1) for line in given)}
    command = shlex.split(f"{server.here(service['ExecStart'])} --workers {workers}")
    written = server.state / "remit.yaml"
    whole = written.read_text()
    written.write_text(whole.replace("time/*", "time/get_current_time"))

    with server.serving(["setpriv", "--no-new-privs", *command], environ) as process:
        async with httpx2.AsyncClient(timeout=60, verify=TRUSTS_NOBODY) as http:
            caller = Caller(http, f"http://127.0.0.1:{server.port}/mcp", server.key)
            offered = await caller.until_listed({"time__get_current_time"})
            answer = await caller.call("time__get_current_time", {"timezone": "UTC"})
            written.write_text(whole)
            server.run(service["ExecReload"].replace("$MAINPID", str(process.pid)))
            await caller.until_listed({"time__convert_time"})

    assert offered == {"time__get_current_time"}
    assert "timezone" in answer["result"]["content"][0]["text"]
