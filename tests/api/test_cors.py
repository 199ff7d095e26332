"""Pages of `server.allowed_origins` may manage with an administrator's key; others cannot."""

from pathlib import Path
from typing import Any

from tests.api.worlds import DOCUMENT, ROLE, open_api

PAGE = "https://console.example.test"


def test_a_listed_page_may_read_and_change_and_no_other_may(tmp_path: Path) -> None:
    document: dict[str, Any] = DOCUMENT | {"roles": {ROLE: {}}, "grants": []}
    with open_api(tmp_path, document | {"server": {"allowed_origins": [PAGE]}}) as api:
        preflight = api.send(
            "OPTIONS",
            "/keys",
            by="nobody",
            headers={"Origin": PAGE, "Access-Control-Request-Method": "PATCH"},
        )
        answers = [
            api.send(method, path, by=by, headers={"Origin": PAGE})
            for method, path, by in (
                ("GET", "/me", "administrator"),
                ("GET", "/nothing", "administrator"),
                ("GET", "/me", "nobody"),
            )
        ]
        foreign = api.send("GET", "/me", headers={"Origin": "https://evil.example.test"})
        here = api.send("GET", "/me", headers={"Origin": "http://localhost:3000"})

    assert preflight.status_code == 204
    assert "PATCH" in preflight.headers["access-control-allow-methods"]
    assert [answer.status_code for answer in answers] == [200, 404, 401]
    for answer in answers:
        assert answer.headers.get_list("access-control-allow-origin") == [PAGE]
        assert "etag" in answer.headers["access-control-expose-headers"]
    assert (foreign.status_code, here.status_code) == (403, 200)
    for answer in (foreign, here):
        assert "access-control-allow-origin" not in answer.headers
