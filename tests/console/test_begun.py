"""What a browser keeps of a sign-in that it began at a provider: for ten minutes, and for that."""

import base64

import msgspec
import pytest

from remit.calls.cipher import Cipher
from remit.doors.console.begun import BegunSeal
from remit.identity.oidc_protocol import Begun

KEY = b"k" * 32
BEGUN = Begun(state="s", nonce="n", verifier="v", redirect_uri="https://tools.example.test/back")


@pytest.mark.parametrize(
    ("seconds", "holds"), [(0, True), (599.9, True), (600, False), (-0.1, False)]
)
def test_a_sign_in_is_ended_within_ten_minutes_of_its_beginning(
    seconds: float, *, holds: bool
) -> None:
    now = [1000.0]
    seal = BegunSeal(KEY, now=lambda: now[0])
    kept = seal.seal(BEGUN, "/console/audit", "provider")

    now[0] += seconds

    assert seal.open(kept, "provider") == ((BEGUN, "/console/audit") if holds else None)
    assert seal.open(kept, "another") is None
    assert BegunSeal(KEY[1:] + b"x", now=lambda: now[0]).open(kept, "provider") is None


def test_what_the_same_key_sealed_for_another_purpose_is_no_sign_in() -> None:
    seal = BegunSeal(KEY, now=lambda: 1000.0)
    plain = msgspec.json.encode([1000.0, "s", "n", "v", "https://tools.example.test/back", "/"])

    def sealed_for(purpose: bytes) -> str:
        return base64.urlsafe_b64encode(Cipher(KEY, purpose).seal(plain, b"p")).decode()

    assert seal.open(sealed_for(b"remit console sign-in"), "p") == (BEGUN, "/")
    assert seal.open(sealed_for(b"remit request state"), "p") is None
