"""The prompts, resources and templates of a fixture server, and who is told of updates."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

QUIRKS = "x-fixture"

Contents = Mapping[str, Sequence[Mapping[str, Any]]]
"""`prompts`, `resources` and `resourceTemplates` to their entries, as the lists have them.

With the key `completes` there, the server says that it completes nothing.

The key `x-fixture` of one holds its quirks: `text` (what it says), `error` (a JSON-RPC error),
`result` (returned as it is).
"""

_LISTS = {
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


class FixtureContents:
    """Answers the methods about them.

    Attributes:
        subscribed: The URIs that were subscribed to, in order, an ending one with `-` before it.
        listening: Id of a `subscriptions/listen` as JSON to the URIs that it asks for.
    """

    def __init__(self, contents: Contents) -> None:
        self.contents: dict[str, list[Mapping[str, Any]]] = {
            member: list(contents.get(member, ())) for member in _LISTS.values()
        }
        self._completes = "completes" not in contents
        self.subscribed: list[str] = []
        self.listening: dict[str, list[str]] = {}

    def capabilities(self) -> dict[str, Any]:
        """Return what the server says it can do with them."""
        said: dict[str, Any] = {}
        if self.contents["prompts"]:
            said["prompts"] = {"listChanged": True}
        if self.contents["resources"] or self.contents["resourceTemplates"]:
            said["resources"] = {"listChanged": True, "subscribe": True}
        return said | ({"completions": {}} if said and self._completes else {})

    def knows(self, method: str) -> bool:
        """Whether the method is one about prompts or resources, and there are any."""
        return method.partition("/")[0] in ("prompts", "resources", "completion") and bool(
            self.capabilities()
        )

    def ran(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what to write down of a request that reaches something, or None."""
        if method in ("prompts/get", "resources/read"):
            return {"name": params.get("name") or params.get("uri"), "arguments": dict(params)}
        if method == "completion/complete":
            return {"name": method, "arguments": dict(params)}
        return None

    def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return `{"result": …}` or `{"error": …}`."""
        match method:
            case "prompts/get":
                return self._prompt(params)
            case "resources/read":
                return self._resource(str(params.get("uri")))
            case "completion/complete":
                reference, argument = params["ref"], params["argument"]
                named = reference.get("name") or reference.get("uri")
                values = [f"{named}:{argument['value']}{n}" for n in (1, 2)]
                return {"result": {"completion": {"values": values, "total": 2, "hasMore": False}}}
            case "resources/subscribe" | "resources/unsubscribe":
                ending = "-" if method.endswith("unsubscribe") else ""
                self.subscribed.append(f"{ending}{params['uri']}")
                return {"result": {}}
            case _:
                member = _LISTS[method]
                return {"result": {member: [_listed(entry) for entry in self.contents[member]]}}

    def is_subscribed(self, uri: str) -> bool:
        """Whether somebody wants to be told of updates to *uri*."""
        asked = self.subscribed.count(uri) > self.subscribed.count(f"-{uri}")
        return asked or any(uri in uris for uris in self.listening.values())

    def listen(self, number: str, params: Mapping[str, Any]) -> bytes:
        """Return the acknowledgement of `subscriptions/listen`."""
        wanted: Mapping[str, Any] = params.get("notifications") or {}
        self.listening[number] = list(wanted.get("resourceSubscriptions", ()))
        meta = {"io.modelcontextprotocol/subscriptionId": json.loads(number)}
        told = {"notifications": wanted, "_meta": meta}
        method = "notifications/subscriptions/acknowledged"
        return json.dumps({"jsonrpc": "2.0", "method": method, "params": told}).encode()

    def _prompt(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        name = params.get("name")
        entry = next((one for one in self.contents["prompts"] if one["name"] == name), None)
        if entry is None:
            return {"error": {"code": -32602, "message": f"Unknown prompt: {name}"}}
        text = f"{name} {json.dumps(params.get('arguments', {}), sort_keys=True)}"
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return _quirky(entry) or {"result": {"messages": [message]}}

    def _resource(self, uri: str) -> Mapping[str, Any]:
        entries = [
            *(one for one in self.contents["resources"] if one.get("uri") == uri),
            *(one for one in self.contents["resourceTemplates"] if _makes(one, uri)),
        ]
        if not entries:
            return {"error": {"code": -32002, "message": "Resource not found"}}
        text = entries[0].get(QUIRKS, {}).get("text", f"the text of {uri}")
        content = {"uri": uri, "mimeType": "text/plain", "text": text}
        return _quirky(entries[0]) or {"result": {"contents": [content]}}


def _quirky(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    quirks: Mapping[str, Any] = entry.get(QUIRKS, {})
    return next(({key: quirks[key]} for key in ("error", "result") if key in quirks), None)


def _listed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != QUIRKS}


def _makes(template: Mapping[str, Any], uri: str) -> bool:
    pieces = re.split(r"\{[^}]*\}", str(template.get("uriTemplate")))
    return re.fullmatch(".*".join(map(re.escape, pieces)), uri) is not None
