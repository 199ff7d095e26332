"""`docs/deployment.md`: a gateway behind a real nginx, with TLS."""

import re
import shutil
import signal
import ssl
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
import uvicorn
from tests.console.worlds import csrf_in, next_in, problem_in
from tests.docs.nginx import NAME, ORIGIN, Nginx
from tests.docs.rules import run_console
from tests.docs.scratch import LONGEST, Scratch
from tests.docs.server import block
from tests.e2e.streams import both_eras

from remit.testing.gateway import Caller, Running, start_gateway

pytestmark = pytest.mark.timeout(180)

DECLARATION = block("# /var/lib/remit/remit.yaml").text


@contextmanager
def nginx_before(gateway: str, folder: Path) -> Generator[Nginx]:
    program = shutil.which("nginx", path="/usr/local/sbin:/usr/sbin:/usr/bin")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not on this machine")
    folder.mkdir(parents=True, exist_ok=True)
    made = Nginx(program, folder, gateway)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def behind_nginx(folder: Path, declaration: str) -> Generator[tuple[Running, Nginx]]:
    config = folder / "remit.yaml"
    config.write_text(declaration)
    with ExitStack() as stack:
        running = start_gateway(folder, config)
        stack.callback(running.stop)
        gateway = f"127.0.0.1:{running.port}"
        yield running, stack.enter_context(nginx_before(gateway, folder / "nginx"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Running, Nginx]]:
    with behind_nginx(tmp_path_factory.mktemp("nginx"), DECLARATION) as both:
        yield both


def trust(nginx: Nginx) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=nginx.certificate)


@pytest.fixture
async def http(both: tuple[Running, Nginx]) -> AsyncGenerator[httpx2.AsyncClient]:
    named = {"Host": NAME}
    async with httpx2.AsyncClient(timeout=60, verify=trust(both[1]), headers=named) as client:
        yield client


@pytest.fixture
async def caller(both: tuple[Running, Nginx], http: httpx2.AsyncClient) -> Caller:
    running, nginx = both
    key = await anyio.to_thread.run_sync(running.key, "developer")
    made = Caller(http, f"https://127.0.0.1:{nginx.port}/mcp", key)
    await made.until_listed({"time__get_current_time"})
    return made


def visitor(nginx: Nginx, address: str = "127.0.0.1") -> httpx2.Client:
    """A browser on the machine with *address* that goes through nginx."""
    return httpx2.Client(
        base_url=f"https://127.0.0.1:{nginx.port}",
        headers={"Host": NAME, "Origin": ORIGIN},
        transport=httpx2.HTTPTransport(verify=trust(nginx), local_address=address),
        timeout=60,
    )


async def test_calls_and_lists_go_through(caller: Caller) -> None:
    answer = await caller.call("time__get_current_time", {"timezone": "UTC"})
    session = await caller.begin()

    assert "timezone" in answer["result"]["content"][0]["text"]
    assert {tool["name"] for tool in await session.tools()} == {
        "time__get_current_time",
        "time__convert_time",
    }


async def test_streams_of_both_eras_hear_of_a_change_while_they_are_open(
    both: tuple[Running, Nginx], caller: Caller
) -> None:
    running, _ = both
    whole = running.config.read_text()

    async with both_eras(caller) as streams:
        running.config.write_text(whole.replace("time/*", "time/get_current_time"))
        running.process.send_signal(signal.SIGHUP)
        with anyio.fail_after(LONGEST):
            for stream in streams:
                await stream.changed.wait()
        assert not any(stream.ended.is_set() for stream in streams)
    running.config.write_text(whole)
    running.process.send_signal(signal.SIGHUP)


async def test_what_is_too_large_is_refused_by_remit_and_not_by_nginx(caller: Caller) -> None:
    refused = await caller.send("tools/call", {"name": "t", "arguments": {"x": "y" * 4_200_000}})

    assert refused.status_code == 413
    assert refused.json()["error"]["message"]


@pytest.mark.parametrize(("size", "status"), [(9_000_000, 400), (10_600_000, 413)])
async def test_a_body_for_the_json_door_is_as_large_as_its_page_says(
    http: httpx2.AsyncClient, caller: Caller, size: int, status: int
) -> None:
    answer = await http.post(
        f"{caller.url}/execute",
        headers={"X-API-Key": caller.key},
        json={"toolName": "time/get_current_time", "input": {"timezone": "y" * size}},
    )

    assert answer.status_code == status
    assert answer.json()["success"] is False


def test_the_console_signs_in_through_tls_with_cookies_of_this_host_alone(
    both: tuple[Running, Nginx],
) -> None:
    running, nginx = both
    with visitor(nginx) as browser:
        shown = browser.get("/console/sign-in")
        fields = {"csrf": csrf_in(shown.text), "next": next_in(shown.text)}
        done = browser.post("/console/sign-in", data={**fields, "key": running.admin_key})
        home = browser.get("/console/home")

    cookies = shown.headers.get_list("set-cookie") + done.headers.get_list("set-cookie")
    assert done.status_code == 303
    assert home.status_code == 200
    assert len(cookies) >= 2
    for cookie in cookies:
        assert cookie.startswith("__Host-remit_")
        assert "; Secure; HttpOnly" in cookie


def test_sign_ins_that_fail_close_it_to_their_own_address_alone_whatever_they_claim(
    both: tuple[Running, Nginx],
) -> None:
    _, nginx = both

    def problem(address: str, number: int) -> str:
        claimed = f"203.0.113.{number}"
        claims = {"X-Forwarded-For": claimed, "Forwarded": f"for={claimed};proto=https"}
        with visitor(nginx, address) as browser:
            shown = browser.get("/console/sign-in").text
            fields = {"csrf": csrf_in(shown), "next": next_in(shown), "key": "rmt_none"}
            return problem_in(browser.post("/console/sign-in", data=fields, headers=claims).text)

    said = [problem("127.0.0.2", number) for number in range(11)]

    assert "does not hold" in said[0]
    assert "too many" in said[-1].lower()
    assert "does not hold" in problem("127.0.0.3", 11)


def test_without_public_url_what_comes_by_nginx_is_refused(tmp_path: Path) -> None:
    without = DECLARATION.partition("server:\n")[0]

    with behind_nginx(tmp_path, without) as (_, nginx), visitor(nginx) as one:
        refused = one.get("/readyz")

    assert refused.status_code == 421
    assert "server.public_url" in refused.json()["detail"]


def test_nginx_leaves_a_connection_at_rest_before_remit_does() -> None:
    (seconds,) = re.findall(r"keepalive_timeout (\d+)s;", block("# /etc/nginx/").text)

    assert 0 < int(seconds) < uvicorn.Config("").timeout_keep_alive


def test_the_commands_beside_it_say_what_the_page_shows(scratch: Scratch) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")
    (scratch.cwd / "remit.yaml").write_text(DECLARATION)
    with nginx_before(scratch.here("127.0.0.1:8400"), scratch.cwd / "nginx") as nginx:
        shutil.copy(nginx.certificate, scratch.cwd)
        leads = f'connect-to = "{NAME}:443:127.0.0.1:{nginx.port}"\n'
        (Path(scratch.environment["HOME"]) / ".curlrc").write_text(leads)

        run_console(block("$ remit serve"), scratch)
