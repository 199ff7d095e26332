"""A tenant's own service key, which its page shows, renews and revokes (S2.24-S2.26, R33).

It is an ordinary service key (S2.2) of a set name: only a hash of it is stored, so it is shown once
when it is made, and afterwards by its public part alone.
"""

from contextlib import suppress
from datetime import datetime
from typing import Final

from remit.admin.keys import KeyStore, MadeKey, make_key
from remit.errors import Conflict, NotFound
from remit.model.keys import Key

PROJECT_KEY: Final = "agent-key"
"""The name of the key, as `remit keys list` shows it."""


async def find_project_key(store: KeyStore, tenant: str, now: datetime) -> Key | None:
    """Return the key that is in use, or None; looking makes none (R33)."""
    held = [
        key
        for key in await store.named(tenant, PROJECT_KEY)
        if key.name == PROJECT_KEY and key.service and key.holds_at(now)
    ]
    return held[-1] if held else None


async def renew_project_key(store: KeyStore, tenant: str, now: datetime) -> MadeKey:
    """Make the key, which ends the one before at once.

    What that was limited to stays, and so does its end unless that has passed.

    Raises:
        Conflict: A key of that name is no service key, or somebody else makes one just now.
    """
    named = [key for key in await store.named(tenant, PROJECT_KEY) if key.name == PROJECT_KEY]
    if any(key.holds_at(now) and not key.service for key in named):
        raise Conflict(
            f"the key {PROJECT_KEY!r} in use is no service key: revoke it first with"
            f" `remit keys revoke {PROJECT_KEY}`"
        )
    kept = [key for key in named if key.service and (key.revoked is None or key.holds_at(now))]
    with suppress(NotFound):  # there is none to end, or somebody else has just ended it
        await store.revoke(tenant, PROJECT_KEY, now)
    until = kept[-1].expires if kept else None
    return await make_key(
        store,
        PROJECT_KEY,
        tenant=tenant,
        now=now,
        service=True,
        queries=kept[-1].queries if kept else (),
        act_for=kept[-1].act_for if kept else (),
        expires=until if until is not None and until > now else None,
        roles={},
    )


async def revoke_project_key(store: KeyStore, tenant: str, now: datetime) -> Key:
    """End the key at once.

    Raises:
        NotFound: None is in use.
    """
    if await find_project_key(store, tenant, now) is None:
        raise NotFound("there is no key to revoke; POST …/agent-key/regenerate makes one")
    return await store.revoke(tenant, PROJECT_KEY, now)


def masked_key(key: Key) -> str:
    """Return a key as it may be shown: which one it is, without its secret."""
    return f"rmt_{key.id}_****"
