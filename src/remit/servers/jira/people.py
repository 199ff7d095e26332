"""People by e-mail address, name or id."""

import re
from collections.abc import Sequence
from typing import Final

from remit.servers.errors import ToolError
from remit.servers.jira.site import Jira
from remit.servers.rest.fields import Fields, text

ME: Final = frozenset({"me", "currentuser()"})
"""What stands for the account that this server works with."""

_MOST_FOUND: Final = 50
_MOST_NAMED: Final = 10
_ACCOUNT: Final = re.compile(r"[0-9A-Za-z:_-]{20,128}")


async def reference(jira: Jira, who: str) -> dict[str, object]:
    """Return what stands for a person in a field of this Jira.

    Raises:
        ToolError: Nobody, or more than one person, is meant; the message lists candidates.
        RestFault: Jira does not say.
    """
    return {jira.person_key: await find_person(jira, who)}


async def find_person(jira: Jira, who: str) -> str:
    """Return the account id (Cloud) or user name (Data Center) of the person meant by *who*.

    Raises:
        ToolError: Nobody, or more than one person, is meant; the message lists candidates.
        RestFault: Jira does not say.
    """
    wanted = who.strip()
    if wanted.casefold() in ME:
        return _identity(jira, await jira.get("myself"))
    found = await _search(jira, wanted)
    people = [user for user in found if user.get("active") is not False]
    exact = [user for user in people if _is_called(user, wanted)]
    if len(exact) == 1 or (not exact and len(people) == 1 and _may_be(people[0], wanted)):
        return _identity(jira, (exact or people)[0])
    if exact or people:
        raise ToolError(
            f"{who!r} may be any of: {_named(jira, exact or people)}; give the e-mail address or id"
            " of one"
        )
    if found:
        raise ToolError(f"{who!r} is no longer active: {_named(jira, found)}")
    raise ToolError(
        f"Jira knows nobody called {who!r}; give an e-mail address, a full name or"
        f" {'an account id' if jira.is_cloud else 'a user name'}"
    )


def _identity(jira: Jira, user: Fields) -> str:
    identity = text(user, jira.person_key)
    if not identity:  # which some Jiras take for nobody
        raise ToolError(f"Jira does not say the {jira.person_key} of {_named(jira, [user])}")
    return identity


async def _search(jira: Jira, wanted: str) -> list[Fields]:
    asked = "query" if jira.is_cloud else "username"
    if jira.is_cloud and _ACCOUNT.fullmatch(wanted):
        found = await _matches(jira, "accountId", wanted)
        if found:
            return found
    found = await _matches(jira, asked, wanted)
    name, _, host = wanted.partition("@")
    if not found and name and host:  # some sites do not search in addresses
        found = [user for user in await _matches(jira, asked, name) if _is_called(user, wanted)]
    return found


async def _matches(jira: Jira, asked: str, value: str) -> list[Fields]:
    return await jira.get_list("user", "search", query={asked: value, "maxResults": _MOST_FOUND})


def _is_called(user: Fields, wanted: str) -> bool:
    names = ("emailAddress", "name", "accountId", "key", "displayName")
    return wanted.casefold() in {text(user, name).casefold() for name in names}


def _may_be(user: Fields, wanted: str) -> bool:
    """Whether the one user found is meant: some name begins so, or the address is not shown."""
    shown = text(user, "emailAddress").casefold()
    if "@" in wanted.strip("@"):
        return not shown
    words = f"{text(user, 'displayName')} {text(user, 'name')} {shown}".casefold()
    return all(re.search(rf"\b{re.escape(word)}", words) for word in wanted.casefold().split())


def _named(jira: Jira, users: Sequence[Fields]) -> str:
    shown = [
        f"{text(user, 'displayName')} ({text(user, 'emailAddress') or text(user, jira.person_key)})"
        for user in users[:_MOST_NAMED]
    ]
    more = len(users) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
