"""Administrators of the installation make tenants over the API (S2.18, R17)."""

from concurrent.futures import ThreadPoolExecutor

from tests.api.worlds import Api


def test_a_new_tenant_is_served_when_the_answer_comes(api: Api) -> None:
    made = api.send("POST", "/tenants", body={"name": "fresh"}, params={"reason": "a squad"})

    assert made.status_code == 201
    assert made.json()["revision"] == 0
    assert api.get(f"/tenants/{made.json()['id']}")["name"] == "fresh"
    role = api.send("POST", "/roles", body={"name": "dev"}, params={"tenant": "fresh"})
    assert (role.status_code, role.json()["revision"]) == (201, 1)
    assert api.send("GET", "/roles/dev").status_code == 404


def test_tenants_that_are_made_at_once_are_each_served_once(api: Api) -> None:
    names = [f"squad-{number}" for number in range(4)]

    def make(name: str) -> int:
        return api.send("POST", "/tenants", body={"name": name}).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(make, names))

    assert statuses == [201] * 4
    served = [tenant["name"] for tenant in api.get("/tenants")["items"]]
    assert sorted(set(served)) == sorted(served)
    assert set(names) <= set(served)


def test_a_name_that_is_taken_or_does_not_do_makes_nothing(api: Api) -> None:
    before = api.get("/tenants")

    taken = api.send("POST", "/tenants", body={"name": "default"})
    bad = api.send("POST", "/tenants", body={"name": "a b"})
    other = api.send(
        "POST", "/tenants", by="administrator of another tenant", body={"name": "mine"}
    )

    assert (taken.status_code, bad.status_code, other.status_code) == (409, 422, 403)
    assert api.get("/tenants") == before
