"""An answer, or a cancellation, counts whichever worker of the port it comes to (R17)."""

from collections.abc import Generator
from typing import Any

import anyio
import httpx2
import pytest
from tests.conformance.callers import Hand
from tests.conformance.conftest import document

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.conformance.behind import open_fixture
from remit.testing.gateway import Running, start_gateway

CALLS = 10
"""With two workers, that all of these and their answers meet by chance is one in a thousand."""

FORMS: dict[str, Any] = {"elicitation": {}}
FILLED = {"action": "accept", "content": {"username": "ada", "email": "a@b"}}


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("workers")
    with open_fixture() as url:
        config = folder / "remit.yaml"
        config.write_text(document({"web": {"url": url, "transport": "http"}}))
        running = start_gateway(folder, config, None, "--workers", "2")
        try:
            yield running.settle()
        finally:
            running.stop()
    assert "Traceback" not in running.log.read_text(), running.log.read_text()


async def fresh(hand: Hand, message: dict[str, Any]) -> None:
    """Say something on a connection of its own."""
    async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
        again = Hand(http=http, url=hand.url, key=hand.key, session=hand.session)
        assert await again.say(message) == 202


async def begun(workers: Running, http: httpx2.AsyncClient) -> Hand:
    hand = Hand(http=http, url=f"{workers.url}/web", key=workers.key("caller"))
    return await hand.begin(FORMS)


@pytest.mark.parametrize("ending", ["answered", "cancelled"])
async def test_what_comes_to_another_worker_is_passed_on(workers: Running, ending: str) -> None:
    with anyio.fail_after(60):
        for _ in range(CALLS):
            async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
                hand = await begun(workers, http)
                async with hand.called("test_elicitation", {"message": "Who?"}) as events:
                    question = await events.next()
                    if ending == "answered":
                        await fresh(hand, {"id": question["id"], "result": FILLED})
                    else:
                        params = {"requestId": 7}
                        await fresh(hand, {"method": "notifications/cancelled", "params": params})
                    answer = await events.next()
            if ending == "answered":
                assert "action=accept" in answer["result"]["content"][0]["text"]
            else:
                assert answer["error"]["code"] == -32800


async def test_a_level_counts_whichever_worker_took_it(workers: Running) -> None:
    async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
        hand = await begun(workers, http)
        assert "result" in (await hand.post("logging/setLevel", {"level": "error"}, 2)).json()
    for _ in range(CALLS):  # each on a connection of its own
        async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
            again = Hand(http=http, url=hand.url, key=hand.key, session=hand.session)
            reply = await again.post("tools/call", {"name": "test_tool_with_logging"}, 3)
            assert "Tool processing data" not in reply.text
            assert "content" in reply.text


async def test_a_session_is_over_for_every_worker_and_its_stream_ends(workers: Running) -> None:
    for _ in range(CALLS):
        async with (
            httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http,
            httpx2.AsyncClient(verify=TRUSTS_NOBODY) as other,
        ):
            hand = await begun(workers, http)
            with anyio.fail_after(30):
                async with http.stream("GET", hand.url, headers=hand.headers()) as stream:
                    ended = await other.delete(hand.url, headers=hand.headers())
                    async for _ in stream.aiter_lines():
                        """It ends by itself."""
        assert ended.status_code == 200
        async with httpx2.AsyncClient(timeout=30, verify=TRUSTS_NOBODY) as http:
            again = Hand(http=http, url=hand.url, key=hand.key, session=hand.session)
            assert (await again.post("tools/list", {}, 2)).status_code == 404
