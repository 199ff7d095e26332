"""The place of a call: one repository on GitHub, with the ways to ask about it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

import anyio

from remit.servers.errors import ToolError
from remit.servers.rest.client import RestClient
from remit.servers.rest.faults import RestFault
from remit.servers.rest.fields import Fields, StrangeShapeError, object_or_empty
from remit.servers.rest.requests import Asked, Query, Reply, path_of

_KEPT_BACK: Final = 5.0
"""Seconds of a call that are left to look whether a change was made whose answer got lost."""

_REFUSALS: Final = frozenset(
    {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A change that is there.

    Attributes:
        how: GitHub answered that it made it; or the answer was lost and the change found; or it
            refused, since the change was there from before.
    """

    fields: Fields
    how: Literal["answered", "lost", "refused"]


@dataclass(slots=True, kw_only=True)
class Repository:
    """One repository, as one call sees it.

    Attributes:
        owner: Empty when none was named.
        about: What is being asked about, for messages.
    """

    client: RestClient
    owner: str
    name: str
    about: str = field(default="", init=False)

    def __post_init__(self) -> None:
        """Begin with the repository itself."""
        self.about = f"{self.owner}/{self.name}" if self.owner else ""

    @property
    def full_name(self) -> str:
        """The name with its owner."""
        return f"{self.owner}/{self.name}"

    def look_at(self, thing: int | None = None) -> None:
        """Say what is being asked about: an issue or pull request by its number."""
        self.about = self.full_name if thing is None else f"{self.full_name}#{thing}"

    async def get(self, *segments: str | int, query: Query | None = None) -> Reply:
        """Ask for JSON below the repository.

        Raises:
            RestFault: It did not end well.
        """
        return await self.client.get(self._path(*segments), query)

    async def ask_text(self, *segments: str | int, accept: str) -> Reply:
        """Ask for a text below the repository.

        Raises:
            RestFault: It did not end well.
        """
        return await self.client.ask(
            Asked(
                method="GET",
                path=self._path(*segments),
                headers={"Accept": accept},
                reads=True,
                wants="text",
            )
        )

    async def change(
        self,
        method: str,
        *segments: str | int,
        body: Mapping[str, object],
        idempotent: bool = False,
    ) -> Reply:
        """Change something below the repository: once, unless a second time does no harm (R23).

        Raises:
            RestFault: It did not end well; the call has time left to look at what happened.
        """
        asked = Asked(
            method=method, path=self._path(*segments), body=dict(body), idempotent=idempotent
        )
        deadline = anyio.current_effective_deadline() - _KEPT_BACK
        with anyio.CancelScope(deadline=max(deadline, anyio.current_time() + 1.0)):
            return await self.client.ask(asked)
        raise ToolError(f"{self.client.service.name} did not answer in time")

    async def change_once(
        self,
        change: Callable[[], Awaitable[Reply]],
        look: Callable[[], Awaitable[Fields | None]],
        is_made: Callable[[Fields], bool],
        *,
        after_refusal: bool = False,
    ) -> Made:
        """Make a change; when its answer is lost, look whether it was made, and never repeat it.

        Args:
            change: Asks for it.
            look: Returns what the change makes, when it is there.
            is_made: Whether an answer tells of what was made.
            after_refusal: Look too when GitHub refused, since it may be there from before.

        Raises:
            RestFault: It was not made, or it cannot be seen.
        """
        try:
            return Made(fields=await self._answered(change, is_made), how="answered")
        except RestFault as fault:
            if not (fault.is_outcome_unknown or (after_refusal and fault.status in _REFUSALS)):
                raise
            try:
                found = await look()
            except (RestFault, StrangeShapeError):
                raise fault from None
            if found is not None:
                how = "lost" if fault.is_outcome_unknown else "refused"
                return Made(fields=found, how=how)
            if fault.is_outcome_unknown:
                fault.problem += " (when looked at right after, it was not there)"
            raise

    async def _answered(
        self, change: Callable[[], Awaitable[Reply]], is_made: Callable[[Fields], bool]
    ) -> Fields:
        reply = await change()
        fields = object_or_empty(reply.data)
        if not is_made(fields):
            service = self.client.service
            raise RestFault(
                service=service.name, problem=service.strange, status=reply.status, reads=False
            )
        return fields

    def _path(self, *segments: str | int) -> str:
        try:
            return path_of("repos", self.owner, self.name, *segments)
        except ValueError as error:
            raise ToolError(f"{error}: neither an owner nor a repository is called so") from error
