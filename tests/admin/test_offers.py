"""R16: what a server that connects offers, against what is granted of it."""

import anyio
from structlog.testing import capture_logs
from tests.calls.worlds import tool

from remit.admin.offers import compare_offers, report_offers
from remit.calls.inforce import PolicyInForce
from remit.model.declaration import Declaration
from remit.model.roles import Role
from remit.model.servers import ServerConfig
from remit.upstreams.catalogue import Catalogue

DECLARED = Declaration(
    servers={name: ServerConfig(name=name) for name in ("git", "wiki")},
    roles={
        "r": Role(name="r", tools={"git": ("log", "gone"), "wiki": ("x",)}, allow=("git/old_*",)),
        "empty": Role(name="empty"),
    },
)


def test_both_differences_between_grants_and_an_offer_are_told_of_that_server_alone() -> None:
    told = compare_offers(DECLARED, {"git": ["log", "push"]})

    assert [(one.code, one.path) for one in told] == [
        ("unknown-tool", "roles.r.tools.git[1]"),
        ("pattern-matches-nothing", "roles.r.allow[0]"),
        ("granted-to-nobody", "mcp_servers.git"),
    ]
    assert "push" in told[2].message
    assert compare_offers(DECLARED, {"wiki": ["x"]}) == ()


class Offers:
    """Catalogues that a test puts in force one after the other."""

    def __init__(self) -> None:
        self.catalogue = Catalogue.build(0, {})
        self.asked = anyio.Event()
        self._newer = anyio.Event()

    def offer(self, **servers: str) -> None:
        self.asked = anyio.Event()
        offers = {
            server: [tool(server, name) for name in names.split()]
            for server, names in servers.items()
        }
        self.catalogue = Catalogue.build(self.catalogue.version + 1, offers)
        self._newer.set()
        self._newer = anyio.Event()

    async def changed(self, version: int) -> Catalogue:
        self.asked.set()
        while self.catalogue.version <= version:
            await self._newer.wait()
        return self.catalogue


async def test_a_server_that_connects_is_reported_once_and_again_when_it_comes_back() -> None:
    offers, policy = Offers(), PolicyInForce(DECLARED, tenant="default", revision=1)
    counts: list[int] = []
    with capture_logs() as logged:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(report_offers, offers, policy, "default")
            with anyio.fail_after(20):
                await offers.asked.wait()
                for git in ("log push", "log push", "", "log push", "log gone old_x"):
                    offers.offer(**({"git": git} if git else {}), other="x")
                    await offers.asked.wait()
                    counts.append(len([one for one in logged if one["server"] == "git"]))
            tasks.cancel_scope.cancel()

    assert counts == [3, 3, 3, 6, 6]
    assert {one["event"] for one in logged} == {"grants and offer differ"}
    assert {one["code"]: one["log_level"] for one in logged} == {
        "unknown-tool": "warning",
        "pattern-matches-nothing": "warning",
        "granted-to-nobody": "info",
    }
    assert logged[0]["rule"] == "roles.r.tools.git[1]"
