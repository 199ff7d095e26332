"""Reading a JWK set from a URL."""

from aiohttp.abc import AbstractResolver

from remit.identity.jwks import KeysUnavailable
from remit.identity.web import Web, WebUnavailable


class UrlKeys:
    """A JWK set at a URL, asked for as `web.py` says."""

    def __init__(
        self, url: str, *, allow_private: bool, resolver: AbstractResolver | None = None
    ) -> None:
        self._url = url
        self._web = Web(allow_private=allow_private, resolver=resolver)

    async def __call__(self) -> bytes:
        """Return the body.

        Raises:
            KeysUnavailable: There is none to be had, or its address is not one to ask.
        """
        try:
            return await self._web.get(self._url)
        except WebUnavailable as error:
            raise KeysUnavailable(str(error)) from None
