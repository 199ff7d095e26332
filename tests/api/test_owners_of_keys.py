"""Whose a key is: said when it is made, and one person with it and with a token (R13)."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.api.data_operations import PROJECT, draft
from tests.api.worlds import ELSEWHERE, SHOP, Api

from remit.client import Client
from remit.identity.development import KEY_FILE
from remit.identity.development_tokens import sign_token

pytestmark = pytest.mark.timeout(120)

ANN = "ann"


def token(api: Api, name: str, **claims: Any) -> str:
    now = datetime.now(UTC)
    return sign_token(
        (api.folder / ".remit" / KEY_FILE).read_text(),
        subject=name,
        claims={"tenant": "default", "isAdmin": True, **claims},
        issued=now,
        expires=now + timedelta(hours=1),
    )


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


def make(api: Api, by: str, *, params: Any = None, **body: Any) -> dict[str, Any]:
    asked = {"name": f"key-{uuid4()}", "user_role": "developer", **body}
    made = api.send("POST", "/keys", by="nobody", body=asked, headers=bearer(by), params=params)
    assert made.status_code == 201, made.text
    return made.json()


def suggested(api: Api, by: str) -> str:
    with Client(api.base, key=by) as client:
        result = client.call_tool("suggest_approved_query", draft(datasource=SHOP), server="data")
    assert not result.is_error, result.text
    assert result.structured is not None
    return result.structured["suggestion_id"]


def test_a_key_that_a_user_makes_is_that_users_unless_another_is_named(api: Api) -> None:
    ann = token(api, ANN)
    admin = make(api, ann, user_role=None, admin=True)

    assert admin["owner"] == ANN
    assert make(api, admin["key"])["owner"] == ANN
    assert make(api, ann, owner="bob")["owner"] == "bob"
    assert make(api, ann, owner="")["owner"] == ANN  # to name nobody is not to name another
    assert api.get(f"/keys/{admin['name']}")["owner"] == ANN


def test_a_key_that_nobody_known_makes_or_in_another_tenant_is_nobodys(api: Api) -> None:
    administrator = api.credentials["administrator"] or ""

    assert make(api, administrator)["owner"] is None
    assert make(api, token(api, ANN), params={"tenant": ELSEWHERE})["owner"] is None


def test_a_rotated_key_stays_its_owners(api: Api) -> None:
    made = make(api, token(api, ANN))

    rotated = api.send("POST", f"/keys/{made['name']}/rotate")

    assert rotated.json()["owner"] == ANN


@pytest.mark.parametrize("owner", [" ann", "a\nb", "x" * 257])
def test_an_owner_is_a_name_that_a_token_can_have(api: Api, owner: str) -> None:
    reply = api.send("POST", "/keys", body={"name": "k", "user_role": "data", "owner": owner})

    assert reply.status_code == 422
    assert "the owner of a key is a user's name" in reply.json()["detail"]


def test_whoever_suggested_with_a_key_does_not_decide_with_a_token_nor_the_other_way(
    api: Api,
) -> None:
    ann = token(api, ANN, user_roles=["developer"])
    key: str = make(api, ann)["key"]

    def approve(suggestion: str, by: str) -> Any:
        path = f"{PROJECT}/queries/{suggestion}/approve"
        return api.send("POST", path, by="nobody", headers=bearer(by))

    for suggests, decides in ((key, ann), (ann, key)):
        suggestion = suggested(api, suggests)
        refused = approve(suggestion, decides)
        assert (refused.status_code, refused.json()["error"]) == (403, "query_not_authorized")
        assert "of their own" in refused.json()["message"]
        assert approve(suggestion, token(api, "bob")).status_code == 200
