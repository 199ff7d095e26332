"""`/metrics`: what was measured, in the text format of Prometheus (version 0.0.4).

administrator of the installation  ──▶ everything
administrator of another tenant    ──▶ what is labelled with that tenant
nobody, over loopback, where that proves that the caller is on this machine ──▶ everything
"""

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from remit.doors.asgi import Exchange, HttpRefusal
from remit.doors.credentials import Authenticate, credential_of, principal_of
from remit.doors.forwarded import peer_of
from remit.doors.guard import is_loopback_name
from remit.model.declaration import HttpSettings
from remit.model.measures import Family, Sample
from remit.model.principals import DEFAULT_TENANT

PATH: Final = "/metrics"
KIND: Final = b"text/plain; version=0.0.4; charset=utf-8"

_PASSED_ON: Final = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
"""What a proxy adds to a request of somebody who may be anywhere."""

_IN_LABEL: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_IN_HELP: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})

Collect = Callable[[], Awaitable[Sequence[Family]]]
"""Returns what was measured up to now."""


class Metrics:
    """Answers whoever may read them.

    Args:
        collect: What was measured.
        authenticate: Who a credential stands for.
        loopback: Whether only this machine can reach the port.
        http: The `server` section in force; where it knows of a proxy, a connection from this
            machine proves nothing.
    """

    def __init__(
        self,
        collect: Collect,
        authenticate: Authenticate,
        *,
        loopback: bool,
        http: Callable[[], HttpSettings],
    ) -> None:
        self._collect = collect
        self._authenticate = authenticate
        self._loopback = loopback
        self._http = http

    async def respond(self, exchange: Exchange) -> None:
        """Answer; nothing is collected for whoever may not read it.

        Raises:
            HttpRefusal: The caller may not read them.
        """
        tenant, credential = DEFAULT_TENANT, credential_of(exchange.head)
        if credential is not None or not self._is_on_this_machine(exchange):
            principal = await principal_of(self._authenticate, credential, exchange.path)
            if not (principal.admin or principal.auditor):
                raise HttpRefusal(403, "only an administrator or an auditor may read the metrics")
            tenant = principal.tenant
        families = await self._collect()
        if tenant != DEFAULT_TENANT:
            families = _of_tenant(families, tenant)
        await exchange.respond(200, exposition(families), kind=KIND)

    def _is_on_this_machine(self, exchange: Exchange) -> bool:
        http = self._http()
        return (
            self._loopback
            and not (http.public_url or http.trusted_proxies)
            and not any(name in exchange.headers for name in _PASSED_ON)
            and is_loopback_name(_bracketed(peer_of(exchange)))
        )


def _bracketed(address: str) -> bytes:
    return (f"[{address}]" if ":" in address else address).encode()


def _of_tenant(families: Sequence[Family], tenant: str) -> Sequence[Family]:
    chosen = [
        replace(
            family,
            samples=tuple(s for s in family.samples if s.labels.get("tenant") == tenant),
        )
        for family in families
    ]
    return [family for family in chosen if family.samples]


def exposition(families: Sequence[Family]) -> bytes:
    """Return *families* as text."""
    return "".join(line + "\n" for family in families for line in _lines(family)).encode()


def _lines(family: Family) -> Iterator[str]:
    measure = family.measure
    yield f"# HELP {measure.name} {measure.help.translate(_IN_HELP)}"
    yield f"# TYPE {measure.name} {measure.kind}"
    for sample in family.samples:
        yield f"{measure.name}{sample.suffix}{_labels(sample.labels)} {_number(sample)}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{name}="{value.translate(_IN_LABEL)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _number(sample: Sample) -> str:
    value = sample.value
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)
