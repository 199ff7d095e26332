"""`remit datasources`: what a data server works on, by command, here and over the API."""

import json
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.inside import run_inside

from remit.testing.gateway import Ended, Running, start_gateway

SECRET = "hunter2-and-more"
MASTER = {"REMIT_MASTER_KEY": "correct horse"}
URL = f"postgresql://reader:{SECRET}@127.0.0.1:1/shop"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "remit.yaml").write_text('version: "1.0"\nmcp_servers: {data: {builtin: data}}\n')
    make_database(tmp_path / "shop.db")
    return tmp_path


def make_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.execute("CREATE TABLE notes (id INTEGER)")
        connection.commit()


def remit(folder: Path, *arguments: str, **environ: str) -> Ended:
    return run_inside("datasources", *arguments, folder=folder, environ=environ)


def listed(folder: Path) -> list[dict[str, Any]]:
    return json.loads(remit(folder, "list", "--json").stdout)


def everything_kept(folder: Path) -> bytes:
    """Return all that was written, except the master key's own place."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_one_is_added_listed_tried_changed_and_removed(folder: Path) -> None:
    added = remit(folder, "add", "shop", "--sqlite", "shop.db", "--default", "--row-limit", "7")

    assert added.returncode == 0, added.stderr
    assert added.stdout == f"datasource 'shop' is added: sqlite, {folder / 'shop.db'}\n"
    (shown,) = listed(folder)
    assert (shown["name"], shown["default"], shown["row_limit"]) == ("shop", True, 7)
    assert (shown["writable"], shown["tables"]) == (False, None)

    tried = remit(folder, "test", "shop")
    assert tried.stdout == "datasource 'shop' answers; tables and views that may be used: 2\n"

    assert remit(folder, "set", "shop", "--table", "orders", "--writable").returncode == 0
    (shown,) = listed(folder)
    assert (shown["writable"], shown["tables"], shown["row_limit"]) == (True, ["orders"], 7)
    assert json.loads(remit(folder, "test", "shop", "--json").stdout)["tables"] == 1
    assert remit(folder, "set", "shop", "--table", "").returncode == 0
    assert listed(folder)[0]["tables"] == []
    assert remit(folder, "set", "shop", "--table", "*").returncode == 0
    assert listed(folder)[0]["tables"] is None

    assert remit(folder, "remove", "shop").returncode == 0
    assert remit(folder, "list").stdout.startswith("no datasources")


def test_a_password_comes_from_the_environment_and_is_kept_encrypted_alone(folder: Path) -> None:
    added = remit(
        folder,
        *("add", "shop", "--postgresql-env", "SHOP_URL", "--untested"),
        SHOP_URL=URL,
        **MASTER,
    )

    assert added.returncode == 0, added.stderr
    (shown,) = listed(folder)
    assert shown["location"] == "postgresql://reader@127.0.0.1:1/shop"
    assert shown["has_password"] is True
    tried = remit(folder, "test", "shop", **MASTER)
    assert tried.returncode == 1
    told = added.stdout + added.stderr + tried.stdout + tried.stderr
    assert SECRET not in told
    assert SECRET.encode() not in everything_kept(folder)


def test_a_password_comes_from_standard_input(folder: Path) -> None:
    added = run_inside(
        *("datasources", "add", "shop", "--postgresql", "-", "--untested"),
        folder=folder,
        environ=MASTER,
        said=f"{URL}\n",
    )

    assert added.returncode == 0, added.stderr
    assert listed(folder)[0]["has_password"] is True


@pytest.mark.parametrize(
    ("arguments", "environ", "words"),
    [
        (("--postgresql", URL), MASTER, "can read on a command line"),
        (("--postgresql-env", "UNSET_HERE"), MASTER, "UNSET_HERE is not set"),
        (("--postgresql-env", "SHOP_URL", "--untested"), {}, "set REMIT_MASTER_KEY"),
        (("--postgresql-env", "SHOP_URL", "--sqlite", "shop.db"), MASTER, "in one way"),
        (("--postgresql-env", "SHOP_URL", "--postgresql", "-"), MASTER, "not both"),
        ((), MASTER, "in one way"),
        (("--sqlite", "nowhere.db"), MASTER, "make the database first"),
        (("--sqlite", ".remit/remit.db"), MASTER, "gateway's own"),
        (("--duckdb", "."), MASTER, "gateway's own"),
        (("--sqlite", "shop.db", "--write-url", "postgresql://a/b"), MASTER, "written where"),
        (("--postgresql", "mysql://a/b"), MASTER, "no URL of PostgreSQL"),
        (
            ("--postgresql-env", "SHOP_URL", "--writable", "--untested"),
            MASTER,
            "a URL of its own",
        ),
        (("--postgresql-env", "SHOP_URL"), MASTER, "cannot be used"),
    ],
)
def test_what_does_not_do_is_refused_with_what_to_do_and_nothing_is_kept(
    folder: Path, arguments: tuple[str, ...], environ: dict[str, str], words: str
) -> None:
    assert remit(folder, "list").returncode == 0  # there is a state folder now

    ended = remit(folder, "add", "shop", *arguments, SHOP_URL=URL, **environ)

    assert ended.returncode == 2
    assert words in ended.stderr
    assert SECRET not in ended.stdout + ended.stderr
    assert listed(folder) == []


def test_another_master_key_gives_one_clear_error(folder: Path) -> None:
    added = ("add", "shop", "--postgresql-env", "SHOP_URL", "--untested")
    assert remit(folder, *added, SHOP_URL=URL, **MASTER).returncode == 0

    ended = remit(folder, "test", "shop", REMIT_MASTER_KEY="another")

    assert ended.returncode == 1
    assert "encrypted with another REMIT_MASTER_KEY" in ended.stderr
    assert SECRET not in ended.stderr


def test_a_name_that_is_taken_and_one_that_is_not_there_are_told(folder: Path) -> None:
    assert remit(folder, "add", "shop", "--sqlite", "shop.db").returncode == 0

    assert remit(folder, "add", "shop", "--sqlite", "shop.db").returncode == 1
    for command in (("test",), ("remove",), ("set", "--default")):
        ended = remit(folder, command[0], "lake", *command[1:])
        assert ended.returncode == 2
        assert "there is no datasource 'lake'" in ended.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("remote")
    config = folder / "remit.yaml"
    config.write_text('version: "1.0"\nmcp_servers: {data: {builtin: data}}\n')
    make_database(folder / "shop.db")
    running = start_gateway(folder, config, MASTER)
    yield running
    running.stop()


def test_the_same_is_done_over_the_api(running: Running, tmp_path: Path) -> None:
    at = ("--url", running.base)
    environ = {"REMIT_KEY": running.admin_key, "SHOP_URL": URL}
    path = str(running.folder / "shop.db")

    def remotely(*arguments: str) -> Ended:
        return remit(tmp_path, *arguments, *at, **environ)

    assert remotely("add", "shop", "--sqlite", path, "--sensitive", "notes").returncode == 0
    assert remotely("add", "far", "--postgresql-env", "SHOP_URL", "--untested").returncode == 0
    assert remotely("set", "shop", "--time-limit", "2.5").returncode == 0
    shown = json.loads(remotely("list", "--json").stdout)
    assert [(each["name"], each["time_limit"], each["sensitive"]) for each in shown] == [
        ("far", 30.0, []),
        ("shop", 2.5, ["notes"]),
    ]
    assert remotely("test", "shop").stdout.startswith("datasource 'shop' answers")
    refused = remotely("test", "far")
    assert refused.returncode == 1
    assert remotely("remove", "far").returncode == 0

    told = running.log.read_text() + refused.stderr + json.dumps(running.audit("--changes"))
    assert SECRET not in told
