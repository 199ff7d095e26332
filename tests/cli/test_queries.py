"""`remit queries`: what was suggested is seen and decided on by command, here and over the API."""

import json
import re
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import run_inside

from remit.testing.gateway import Ended, Running, start_gateway

SQL = "SELECT count(*) AS n FROM orders WHERE id > {{least}}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "remit.yaml").write_text('version: "1.0"\nmcp_servers: {data: {builtin: data}}\n')
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.commit()
    added = run_inside("datasources", "add", "shop", "--sqlite", "shop.db", folder=tmp_path)
    assert added.returncode == 0, added.stderr
    return tmp_path


@pytest.fixture(params=["here", "over the API"])
def where(folder: Path, request: pytest.FixtureRequest) -> Generator[list[str]]:
    """Return what makes a command act in this process, or ask a running gateway."""
    if request.param == "here":
        yield []
        return
    running: Running = start_gateway(folder, folder / "remit.yaml", {}).settle()
    try:
        yield ["--url", running.base, "--key", running.admin_key]
    finally:
        running.stop()


def suggest(folder: Path, name: str) -> str:
    arguments = {
        "name": name,
        "description": "How many orders there are.",
        "sql": SQL,
        "parameters": [{"name": "least", "type": "integer", "example": 1}],
    }
    call(folder, "user", "suggest_approved_query", **arguments)
    waiting = shown(queries(folder, "pending", "--json"))
    return next(each["id"] for each in waiting if each["name"] == name)


def call(folder: Path, role: str, tool: str, **arguments: object) -> None:
    """Call a tool of the data server, as somebody with that user role."""
    called = run_inside(
        "call",
        "--as",
        f"user-role:{role}",
        f"data/{tool}",
        "--args",
        json.dumps(arguments),
        folder=folder,
    )
    assert called.returncode == 0, called.stdout + called.stderr


def queries(folder: Path, *arguments: str) -> Ended:
    return run_inside("queries", *arguments, folder=folder)


def shown(ended: Ended) -> Any:
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def test_a_suggestion_waits_is_approved_and_is_listed(folder: Path, where: list[str]) -> None:
    suggestion = suggest(folder, "orders")

    (waiting,) = shown(queries(folder, "pending", "--json", *where))
    assert (waiting["id"], waiting["status"]) == (suggestion, "pending")
    assert waiting["suggested_by"] == "user-role:user"
    assert shown(queries(folder, "list", "shop", "--json", *where)) == []

    approved = queries(folder, "approve", suggestion, *where)
    assert approved.stdout == f"query {suggestion!r} (orders) is approved\n", approved.stderr

    assert shown(queries(folder, "pending", "--json", *where)) == []
    (listed,) = shown(queries(folder, "list", "shop", "--json", *where))
    assert (listed["id"], listed["is_enabled"]) == (suggestion, True)
    assert shown(queries(folder, "show", "shop", suggestion, "--json", *where))["sql"] == SQL
    assert suggestion in queries(folder, "list", "shop", *where).stdout


def test_a_suggested_change_is_shown_as_the_query_would_be_by_it(
    folder: Path, where: list[str]
) -> None:
    query = suggest(folder, "orders")
    assert queries(folder, "approve", query, *where).returncode == 0
    call(folder, "user", "suggest_query_update", query_id=query, context="-", description="New.")
    sql = SQL.replace("count(*)", "sum(1)")
    assert sql != SQL
    call(folder, "data", "update_approved_query", query_id=query, sql=sql)

    (waiting,) = shown(queries(folder, "pending", "--json", *where))
    one = shown(queries(folder, "show", "shop", waiting["id"], "--json", *where))

    for each in (waiting, one):
        assert (each["description"], each["sql"], each["parent"]) == ("New.", sql, query)
        assert (each["changed"], each["is_outdated"]) == (["description"], True)
        assert each["before"] == {"description": "How many orders there are."}
    listed = queries(folder, "pending", *where).stdout
    assert re.search(r"orders +description +yes +user-role:user", listed), listed
    told = queries(folder, "show", "shop", waiting["id"], *where).stdout
    assert re.search(r"description, before +How many orders there are\.", told), told
    call(folder, "data", "delete_approved_query", query_id=query)
    left = shown(queries(folder, "show", "shop", waiting["id"], "--json", *where))
    assert (left["status"], left["before"]) == ("rejected", {})


def test_a_suggestion_is_rejected_once_with_a_reason(folder: Path, where: list[str]) -> None:
    suggestion = suggest(folder, "orders")

    rejected = shown(queries(folder, "reject", suggestion, "nobody asks that", "--json", *where))
    assert (rejected["status"], rejected["rejection_reason"]) == ("rejected", "nobody asks that")

    again = queries(folder, "approve", suggestion, *where)
    assert again.returncode == 1
    assert "rejected" in again.stderr


def test_what_is_not_there_is_said(folder: Path, where: list[str]) -> None:
    ended = queries(folder, "approve", "nonesuch", *where)

    assert ended.returncode == 1
    assert "nonesuch" in ended.stderr
