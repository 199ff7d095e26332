"""URLs of PostgreSQL: which are taken, what is shown of them, and where they lead."""

import pytest

from remit.data.urls import (
    address_of,
    has_secret,
    is_postgresql,
    require_postgresql_url,
    without_secret,
)
from remit.errors import BadCall

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:hunter2@db.test/shop", "postgresql://ann@db.test/shop"),
        ("postgres://ann:hunter2@db.test:5433/shop", "postgres://ann@db.test:5433/shop"),
        ("postgresql://:hunter2@db.test/shop", "postgresql://db.test/shop"),
        ("postgresql://ann:p%40hunter2@[::1]/shop", "postgresql://ann@[::1]/shop"),
        ("postgresql://ann:p@hunter2@db.test/shop", "postgresql://ann@db.test/shop"),
        (
            "postgresql://ann@/shop?host=/run/pg&password=hunter2",
            "postgresql://ann@/shop?host=%2Frun%2Fpg",
        ),
        ("postgresql://ann@db.test/shop?sslpassword=hunter2", "postgresql://ann@db.test/shop"),
    ],
)
def test_a_password_is_seen_wherever_it_stands_and_never_shown(url: str, shown: str) -> None:
    require_postgresql_url(url)

    assert has_secret(url)
    assert without_secret(url) == shown
    assert not has_secret(shown)


@pytest.mark.parametrize(
    "url", ["postgresql://ann@db.test/shop", "postgresql:///shop?host=/run/pg&user=ann"]
)
def test_without_a_password_there_is_no_secret(url: str) -> None:
    assert not has_secret(url)
    require_postgresql_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:hunter2@db.test/shop",
        "hunter2",
        "host=db.test password=hunter2",
        "postgresql:ann:hunter2",
        "postgresql://ann:hunter2@db.test:port/shop",
        "postgresql://ann:hunter2@a:1,b:2/shop",
        "postgresql://ann:hunter2@db.test/shop\n",
        "postgresql://db.test:5432/",
        "postgresql://ann:hunter2@db.test/shop?service=hunter2",
        "postgresql://ann:hunter2@db.test/shop?passfile=/etc/hunter2",
        "postgresql://ann:hunter2@db.test/shop?options=-c%20hunter2",
        "postgresql://ann:hunter2@db.test/shop?servicefile=/hunter2",
    ],
)
def test_what_does_not_do_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(BadCall) as told:
        require_postgresql_url(url)

    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://remit:x@localhost/remit",
        "postgres://other@127.0.0.1:5432/remit",
        "postgresql://[::1]/remit?sslmode=disable",
        "postgresql:///remit",
        "postgresql+psycopg://remit@/remit",
        "postgresql://remit@db.test:1/other?host=localhost&port=5432&dbname=remit",
    ],
)
def test_one_place_has_one_address_however_it_is_spelled(url: str) -> None:
    assert is_postgresql(url)
    assert address_of(url) == ("", "5432", "remit")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://remit@db.test/remit",
        "postgresql://remit@localhost:5433/remit",
        "postgresql://remit@localhost/shop",
        "postgresql://remit@/remit?host=/run/pg",
    ],
)
def test_other_places_have_other_addresses(url: str) -> None:
    assert address_of(url) != ("", "5432", "remit")
