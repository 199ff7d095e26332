"""URLs with passwords are encrypted at rest, each for its own place (S2.25)."""

import base64
import hashlib
import hmac
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from remit.data.sealing import UrlSeal, Use
from remit.errors import BadCall, DataFailure
from remit.model.data import Datasource, EngineKind

URL = "postgresql://reader:hunter2@db.test/shop"
NOW = datetime(2026, 11, 29, tzinfo=UTC)
PASSPHRASE = "correct horse"
SPELLED = base64.b64encode(bytes(range(32))).decode()


def source(kept: str, use: Use = "reader", **changes: Any) -> Datasource:
    made = Datasource(
        id="d1",
        tenant="default",
        name="shop",
        engine=EngineKind.POSTGRESQL,
        location="postgresql://reader@db.test/shop",
        reader=kept if use == "reader" else "",
        writer=kept if use == "writer" else "",
        created=NOW,
        updated=NOW,
    )
    return replace(made, **changes)


def sealed(master: str = PASSPHRASE, use: Use = "reader") -> str:
    return UrlSeal(master).seal(URL, tenant="default", datasource="d1", use=use)


@pytest.mark.parametrize("use", ["reader", "writer"])
@pytest.mark.parametrize("master", [PASSPHRASE, SPELLED])
def test_what_is_sealed_is_opened_again_with_the_same_key(master: str, use: Use) -> None:
    kept = sealed(master, use)

    assert "hunter2" not in kept
    assert UrlSeal(master).url_of(source(kept, use), use) == URL


def test_two_sealed_alike_do_not_look_alike() -> None:
    assert sealed() != sealed()


def test_it_is_aes_256_gcm_under_a_key_for_this_purpose_alone() -> None:
    raw = os.urandom(32)
    kept = sealed(base64.b64encode(raw).decode())

    key = hmac.digest(raw, b"remit: URLs of datasources", hashlib.sha256)
    blob = base64.b64decode(kept.removeprefix("seal.1:"))

    opened = AESGCM(key).decrypt(blob[:12], blob[12:], b"reader\0default\0d1")
    assert opened.decode() == URL


def test_a_passphrase_stands_for_its_sha_256() -> None:
    spelled = base64.b64encode(hashlib.sha256(PASSPHRASE.encode()).digest()).decode()

    assert UrlSeal(spelled).url_of(source(sealed(PASSPHRASE)), "reader") == URL


@pytest.mark.parametrize("changes", [{"tenant": "acme"}, {"id": "d2"}])
def test_a_row_that_was_copied_elsewhere_is_not_opened(changes: dict[str, str]) -> None:
    with pytest.raises(DataFailure, match="another REMIT_MASTER_KEY"):
        UrlSeal(PASSPHRASE).url_of(source(sealed(), "reader", **changes), "reader")


def test_what_is_read_with_is_not_taken_for_what_is_written_with() -> None:
    with pytest.raises(DataFailure, match="another REMIT_MASTER_KEY"):
        UrlSeal(PASSPHRASE).url_of(source(sealed(use="reader"), "writer"), "writer")


@pytest.mark.parametrize("kept", ["seal.1:", "seal.1:AAAA", "seal.1:*", ""])
def test_what_was_damaged_gives_the_same_one_error(kept: str) -> None:
    kept = kept or f"{sealed()[:-8]}AAAAAAA="

    with pytest.raises(DataFailure, match="another REMIT_MASTER_KEY") as told:
        UrlSeal(PASSPHRASE).url_of(source(kept), "reader")

    assert told.value.code == "service_unavailable"
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(("master", "words"), [("", "is not set"), ("wrong", "another")])
def test_another_key_or_none_gives_one_clear_error(master: str, words: str) -> None:
    with pytest.raises(DataFailure, match=words) as told:
        UrlSeal(master).url_of(source(sealed()), "reader")

    assert told.value.details == {"datasource": "shop"}
    assert "remit datasources set" in str(told.value)


def test_without_a_key_no_password_is_kept() -> None:
    with pytest.raises(BadCall, match="openssl rand -base64 32"):
        sealed("")


def test_what_holds_no_secret_is_kept_as_it_is() -> None:
    plain = "postgresql://reader@db.test/shop"

    assert UrlSeal("").url_of(source(plain, "writer"), "writer") == plain
    assert UrlSeal("").url_of(source(""), "reader") == ""


def test_no_representation_shows_what_is_sealed() -> None:
    kept = sealed()

    assert kept not in repr(source(kept, "writer"))
