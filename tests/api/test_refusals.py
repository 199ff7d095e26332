"""Every refusal is a problem document that says what to do about it."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from tests.api.worlds import ROLE, Api

from remit.doors.asgi import LARGEST_BODY

PROJECT_CONFIG = "/api/projects/default/mcp/config"


def problem(reply: httpx2.Response, status: int) -> dict[str, Any]:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    document = reply.json()
    assert document["status"] == status
    assert document["detail"]
    return document


def test_a_path_that_is_none_is_told_to_whoever_has_a_credential(api: Api) -> None:
    assert problem(api.send("GET", "/nothing"), 404)["code"] == "RESOURCE_NOT_FOUND"
    problem(api.send("GET", "/nothing", by="nobody"), 401)


def test_a_method_that_a_path_does_not_take_names_those_that_it_takes(api: Api) -> None:
    reply = api.send("PUT", "/keys")

    problem(reply, 405)
    assert reply.headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("body", "where", "said"),
    [
        (
            {"name": "x", "role": ROLE, "colour": "red"},
            "body.colour",
            "is no field that is known here; leave it out",
        ),
        ({"role": ROLE}, "body.name", "is missing; give it"),
        ({"name": 7, "role": ROLE}, "body.name", "must be a valid string"),
        ({"name": "x", "admin": "yes"}, "body.admin", "must be a valid boolean"),
        (
            {"name": "x", "queries": ["q"] * 101},
            "body.queries",
            "must have at most 100 entries",
        ),
    ],
    ids=["unknown key", "nothing", "a number", "a text for a switch", "too many"],
)
def test_a_body_that_does_not_fit_is_told_where(
    api: Api, body: dict[str, Any], where: str, said: str
) -> None:
    document = problem(api.send("POST", "/keys", body=body), 422)

    assert [(one["where"], one["message"]) for one in document["errors"]] == [(where, said)]
    assert document["detail"] == f"{where.removeprefix('body.')}: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "body: must not be empty"), ("x" * 100_001, "body: must have at most 100000 characters")],
)
def test_a_text_of_the_wrong_length_is_told_in_plain_words(api: Api, text: str, said: str) -> None:
    reply = api.send("POST", "/inbox/none/reply", body={"body": text})

    assert problem(reply, 422)["detail"] == said


def test_what_is_no_json_is_told_where_it_ends(api: Api) -> None:
    reply = api.send("POST", "/keys", content=b"{", headers={"Content-Type": "application/json"})

    assert problem(reply, 422)["detail"].startswith("body.1: ")


def test_what_a_declaration_would_refuse_is_told_as_a_check_tells_it(api: Api) -> None:
    body = {"name": "bad", "alow": ["tools/*"], "deny": ["*"]}

    document = problem(api.send("POST", "/roles", body=body), 422)

    assert {one["where"] for one in document["errors"]} == {"unknown-key", "bad-pattern"}
    assert any("allow" in one["remedy"] for one in document["errors"])
    problem(api.send("GET", "/roles/bad"), 404)


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {}, 422),
        (b'{"name": "\\ud800", "role": "developer"}', {}, 422),
        (b"[" * 100_000, {}, 400),
        (b"name: x", {"Content-Type": "application/yaml"}, 415),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b" " * (LARGEST_BODY + 1), {}, 413),
        (b"{}", {"X-API-Key": "another"}, 400),
        (b"{}", {"Origin": "https://evil.example.test"}, 403),
        (b"{}", {"Host": "evil.example.test"}, 421),
    ],
    ids=[
        "no JSON",
        "half a character",
        "too deep",
        "YAML",
        "text",
        "too large",
        "two credentials",
        "a foreign page",
        "a foreign host",
    ],
)
def test_what_cannot_be_read_is_refused(
    api: Api, content: bytes, headers: Mapping[str, str], status: int
) -> None:
    reply = api.send(
        "POST", "/keys", content=content, headers={"Content-Type": "application/json", **headers}
    )

    problem(reply, status)


@pytest.mark.parametrize(
    ("method", "path", "body", "name"),
    [
        ("POST", "/keys", '{"name": "k", "role": "idle", "role": "admin"}', "role"),
        ("POST", "/keys", '{"name": "k", "name": NaN, "role": "idle"}', "name"),
        ("POST", "/roles", '{"name": "r", "tools": {"a": [], "a": ["x"]}}', "a"),
        ("PATCH", "/agents/w1", '{"r\\u006fle": null, "role": "idle"}', "role"),
        (
            "PATCH",
            PROJECT_CONFIG,
            '{"addQueryTools": true, "addQueryTools": false}',
            "addQueryTools",
        ),
    ],
    ids=["a key", "beside no number", "at any depth", "spelled in two ways", "a project"],
)
def test_a_body_that_says_two_things_of_one_member_is_refused(
    api: Api, method: str, path: str, body: str, name: str
) -> None:
    headers = {"Content-Type": "application/json", "If-Match": "*"}

    document = problem(api.send(method, path, content=body.encode(), headers=headers), 400)

    assert document["detail"] == f"the body names {name!r} twice in one object; send it once"


def test_what_exists_already_is_not_made_again(api: Api) -> None:
    body = {"name": "twice", "role": ROLE}
    assert api.send("POST", "/keys", body=body).status_code == 201

    assert "in use" in problem(api.send("POST", "/keys", body=body), 409)["detail"]
    problem(api.send("POST", "/roles", body={"name": ROLE}), 409)


def test_a_change_needs_what_is_there_now_in_view(api: Api) -> None:
    stale = api.tag(f"/roles/{ROLE}")
    change = {"description": "another one"}
    problem(api.send("PATCH", f"/roles/{ROLE}", body=change), 428)
    made = api.send("PATCH", f"/roles/{ROLE}", body=change, headers={"If-Match": stale})
    assert made.status_code == 200, made.text

    again = api.send("PATCH", f"/roles/{ROLE}", body={"deny": []}, headers={"If-Match": stale})

    assert made.headers["ETag"] in problem(again, 412)["detail"]
    for weak in (f"W/{made.headers['ETag']}", '"r1", W/"x"'):
        problem(
            api.send("PATCH", f"/roles/{ROLE}", body={"deny": []}, headers={"If-Match": weak}), 412
        )
    problem(api.send("PATCH", f"/roles/{ROLE}", body={"deny": []}, headers={"If-Match": "r1"}), 400)


@pytest.mark.parametrize("cursor", ["x", "e30", "WyJyb2xlcyIsIDFd", "WyJhZ2VudHMiLCJhIl0", "%00"])
def test_a_cursor_of_another_list_or_of_none_is_refused(api: Api, cursor: str) -> None:
    assert "cursor" in problem(api.send("GET", "/roles", params={"cursor": cursor}), 422)["detail"]


def test_a_tenant_that_is_none_is_told_to_administrators_of_all_alone(api: Api) -> None:
    nowhere = {"tenant": "nowhere"}
    problem(api.send("GET", "/keys", params=nowhere), 404)
    problem(api.send("GET", "/keys", params=nowhere, by="role key"), 403)
    problem(api.send("GET", "/keys", params=nowhere, by="administrator of another tenant"), 403)


def test_no_answer_may_be_kept_by_a_cache_and_no_secret_is_in_a_problem(api: Api) -> None:
    secret = "rmt_" + "c" * 12 + "_" + "d" * 43
    reply = api.send("POST", "/keys", body={"name": secret, "role": secret})

    assert secret not in json.dumps(problem(reply, 404))
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-request-id"] == reply.json()["request_id"]
    unknown = api.send("GET", "/me", by="nobody")
    assert unknown.headers["cache-control"] == "no-store"
