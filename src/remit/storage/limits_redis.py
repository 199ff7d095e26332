"""Calls counted in Redis or Valkey, for workers on many machines, by that server's own clock.

The library `limits` knows the addresses: of one server, over TLS, a socket, or by Sentinel. Its own
script for moving windows takes the clock of whoever asks and one limit at a time; this one takes
the server's clock, and all limits of a call or none.
"""

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

import anyio
from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.errors import ConfigurationError
from limits.storage import storage_from_string

from remit.errors import StartupError, StorageUnavailable
from remit.model.limits import Allowance, Shortage

PATIENCE: Final = 1.0
"""Seconds in which the server has to answer."""

SCHEMES: Final = tuple(
    f"{server}{way}" for server in ("redis", "valkey") for way in ("", "s", "+unix", "+sentinel")
)
"""What an address may begin with."""

_PREFIX: Final = "remit:limit:"

_TAKE: Final = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local at, wait = 0, 0
for i, key in ipairs(KEYS) do
  local use = redis.call('LINDEX', key, ARGV[2 * i - 1] - 1)
  local left = use and use + ARGV[2 * i] - now or 0
  if left > 2 * ARGV[2 * i] then left = 0 end
  if left > wait then at, wait = i, left end
end
if at > 0 then return {at, tostring(wait)} end
for i, key in ipairs(KEYS) do
  redis.call('LPUSH', key, string.format('%.6f', now))
  redis.call('LTRIM', key, 0, ARGV[2 * i - 1] - 1)
  redis.call('EXPIRE', key, ARGV[2 * i] + 1)
end
return {0, '0'}
"""
"""KEYS: one list for each limit, of the moments of its latest calls, newest first.

ARGV: calls and seconds of each. What is more than a span ahead is of a clock that was set back, and
counts no more. Returns which limit has no room, from 1, and for how long.
"""


_USED: Final = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local counts = {}
for i, key in ipairs(KEYS) do
  counts[i] = 0
  for _, use in ipairs(redis.call('LRANGE', key, 0, ARGV[2 * i - 1] - 1)) do
    local left = use + ARGV[2 * i] - now
    if left <= 0 then break end
    if left <= 2 * ARGV[2 * i] then counts[i] = counts[i] + 1 end
  end
end
return counts
"""
"""KEYS and ARGV as above. Returns how many moments of each list are within its span."""


class _Script(Protocol):
    def __call__(self, keys: Sequence[str], args: Sequence[int]) -> Awaitable[object]: ...


class _Client(Protocol):
    def register_script(self, script: str) -> _Script: ...

    async def aclose(self) -> None: ...


class WindowsInRedis:
    """Moving windows as lists of moments."""

    def __init__(
        self, take: _Script, used: _Script, failures: tuple[type[Exception], ...], name: str
    ) -> None:
        self._take = take
        self._used = used
        self._failures = failures
        self._name = name

    async def take(self, wanted: Sequence[Allowance]) -> Shortage | None:
        """Count one call against each of *wanted*, or against none of them.

        Raises:
            StorageUnavailable: The server cannot be reached, or does not answer in time.
        """
        at, wait = cast("tuple[int, bytes]", await self._run(self._take, wanted))
        return Shortage(at - 1, float(wait)) if at else None

    async def used(self, wanted: Sequence[Allowance]) -> Sequence[int]:
        """Return how many calls count against each of *wanted* now, at most what it allows.

        Raises:
            StorageUnavailable: The server cannot be reached, or does not answer in time.
        """
        return cast("list[int]", await self._run(self._used, wanted))

    async def _run(self, script: _Script, wanted: Sequence[Allowance]) -> object:
        keys = [_PREFIX + allowance.key for allowance in wanted]
        spans = [number for one in wanted for number in (one.calls, one.seconds)]
        try:
            with anyio.fail_after(PATIENCE):
                return await script(keys, spans)
        except (TimeoutError, OSError, *self._failures) as error:
            why = str(error).partition("\n")[0] or "it takes too long"
            raise StorageUnavailable(f"cannot use the store {self._name}: {why}") from error


@asynccontextmanager
async def open_windows(url: str) -> AsyncGenerator[WindowsInRedis]:
    """Open the store at *url*; whether it can be reached shows at the first call.

    Args:
        url: Begins with one of `SCHEMES`, such as `redis://host:6379/0`.

    Raises:
        StartupError: It is no such address, or the driver is missing.
    """
    name = _name(url)
    address = "async+redis" + url.removeprefix("redis").removeprefix("valkey")
    try:
        storage = storage_from_string(
            address,
            implementation="redispy",
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
        )
    except (ConfigurationError, ValueError) as error:
        raise StartupError(
            "REMIT_SHARED_URL cannot be used: write redis://host:6379/0, and have the driver"
            " for it, which comes with remit[redis]"
        ) from error
    bridge = cast(RedispyBridge, cast(RedisStorage, storage).bridge)
    client = cast("_Client", bridge.get_connection())
    failures = bridge.base_exceptions
    try:
        yield WindowsInRedis(
            client.register_script(_TAKE),
            client.register_script(_USED),
            failures if isinstance(failures, tuple) else (failures,),
            name,
        )
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()


def _name(url: str) -> str:
    """Return what messages call the store: without credentials.

    Raises:
        StartupError: The address cannot be one.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise StartupError(
            f"REMIT_SHARED_URL: a store of the kind {parts.scheme!r} is not supported: "
            "write redis://host:6379/0, valkey://… or memory://"
        )
    return repr(parts.netloc.rpartition("@")[2] or parts.path)
