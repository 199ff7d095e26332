"""One Jira: its API, and in what Cloud and Data Center differ."""

from collections.abc import Sequence
from typing import Final, Literal
from urllib.parse import quote

import anyio
from anyio import to_thread

from remit.servers.errors import ToolError
from remit.servers.jira.adf.from_markdown import document
from remit.servers.jira.adf.to_markdown import markdown
from remit.servers.jira.fields import Field, FieldTable
from remit.servers.jira.turns import MadeLately
from remit.servers.rest.client import RestClient
from remit.servers.rest.fields import Fields, fields_of, find_text, items_of, object_or_empty, text
from remit.servers.rest.requests import Asked, Query, path_of

Deployment = Literal["cloud", "datacenter"]

_AGILE: Final = ("rest", "agile", "1.0")


class Jira:
    """A Jira as the tools see it.

    Args:
        client: Of its REST API.
        deployment: What it is; asked of the site itself when it is None.
        pause: Seconds after which Jira's search finds what was made just now.

    Attributes:
        service: As its settings describe it.
    """

    def __init__(
        self, client: RestClient, deployment: Deployment | None = None, *, pause: float = 1.0
    ) -> None:
        self.pause = pause
        self.made_lately = MadeLately()
        self.service = client.service
        self._client = client
        self._deployment = deployment
        self._pages = self.service.base
        self._fields: FieldTable | None = None
        self._asking = anyio.Lock()

    @property
    def is_cloud(self) -> bool:
        """Whether it is Jira Cloud; before `prepare` this is not known."""
        return self._deployment == "cloud"

    @property
    def person_key(self) -> str:
        """The name under which a user is referred to."""
        return "accountId" if self.is_cloud else "name"

    async def prepare(self) -> None:
        """Find out what it is, once.

        Raises:
            RestFault: It does not say.
        """
        async with self._asking:
            if self._deployment is None:
                reply = await self._client.get("/rest/api/2/serverInfo")
                told = fields_of(reply.data)
                kind = text(told, "deploymentType").lower()
                self._deployment = "cloud" if kind == "cloud" else "datacenter"
                if text(told, "baseUrl").startswith(("https://", "http://")):
                    self._pages = text(told, "baseUrl")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def url(self, key: str) -> str:
        """Return the page of a ticket, where people find it; the API may be reached elsewhere."""
        return f"{self._pages.rstrip('/')}/browse/{quote(key, safe='')}"

    async def get(self, *path: str | int, query: Query | None = None) -> Fields:
        """Read one thing.

        Raises:
            RestFault: Jira does not show it.
        """
        return fields_of((await self._client.get(self._path(path), query)).data)

    async def get_list(self, *path: str | int, query: Query | None = None) -> list[Fields]:
        """Read a list of things.

        Raises:
            RestFault: Jira does not show it.
        """
        return items_of((await self._client.get(self._path(path), query)).data)

    async def get_agile(self, *path: str | int, query: Query | None = None) -> Fields:
        """Read a board or sprint.

        Raises:
            RestFault: Jira does not show it.
        """
        return fields_of((await self._client.get(_safe(*_AGILE, *path), query)).data)

    async def send(
        self, method: str, *path: str | int, body: object, idempotent: bool = False
    ) -> Fields:
        """Change something and return what Jira answers, empty when that is no object.

        Args:
            method: Of HTTP.
            path: Below the API.
            body: Sent as JSON.
            idempotent: Whether a second one changes nothing more, so that it may be repeated.

        Raises:
            RestFault: Jira does not, or it is not known whether it did.
        """
        asked = Asked(method=method, path=self._path(path), body=body, idempotent=idempotent)
        data = (await self._client.ask(asked)).data
        # It is done: whatever was said about it is no reason to call it a failure.
        return object_or_empty(data)

    async def write(self, words: str) -> object:
        """Return a text as this Jira takes it: a document, or wiki markup as it is."""
        # Parsing a long text would hold up every other call of the gateway.
        return await to_thread.run_sync(document, words) if self.is_cloud else words

    async def read(self, value: object) -> str:
        """Return a description or comment as text: Markdown, or wiki markup as it is."""
        if isinstance(value, str) or value is None:
            return value or ""
        return await to_thread.run_sync(markdown, value)

    def person(self, user: Fields) -> dict[str, object] | None:
        """Return a user as results show them; None for nobody."""
        identity = find_text(user, self.person_key) or find_text(user, "key")
        if identity is None:
            return None
        return {
            "id": identity,
            "name": find_text(user, "displayName") or identity,
            "email": find_text(user, "emailAddress") or None,
        }

    async def field(self, name: str) -> Field:
        """Return the field that is called *name*, or has that id.

        Raises:
            ToolError: There is none, or several.
            RestFault: Jira does not list its fields.
        """
        table = await self.field_table()
        if not table.knows(name):  # it may be new
            self._fields = None
            table = await self.field_table()
        return table.get(name)

    async def field_table(self) -> FieldTable:
        """Return the fields of this Jira; asked for once.

        Raises:
            RestFault: Jira does not list them.
        """
        async with self._asking:
            if self._fields is None:
                reply = await self._client.get(self._path(("field",)))
                self._fields = FieldTable(items_of(reply.data))
            return self._fields

    def _path(self, path: Sequence[str | int]) -> str:
        return _safe("rest", "api", "3" if self.is_cloud else "2", *path)


def _safe(*path: str | int) -> str:
    try:
        return path_of(*path)
    except ValueError as error:
        raise ToolError(str(error)) from error
