"""The fake of GitHub at the address where GitHub's own server looks for a GitHub Enterprise.

That server takes a host without a port, asks for `/api/v3/...` there, and lists issues by GraphQL,
which the fake does not know. So it is given a proxy that leads to the fake, whatever the host, and
that answers the one GraphQL query out of the fake's own list of issues.
"""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

from remit.client.transport import TRUSTS_NOBODY
from remit.testing.github_fake import GitHubFake

HOST = "http://github.example.test"
_PASSED_ON = ("authorization", "accept", "content-type")


class Proxy(ThreadingHTTPServer):
    """Where `HTTP_PROXY` leads."""

    daemon_threads = True

    def __init__(self, fake: GitHubFake) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.fake = fake

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, request: "Request", body: bytes) -> tuple[int, bytes]:
        """Return the status and the JSON that *request* gets."""
        asked = urlsplit(request.path)
        if asked.path == "/api/graphql":
            return 200, json.dumps({"data": self._issues(json.loads(body)["variables"])}).encode()
        where = asked.path.removeprefix("/api/v3") + (f"?{asked.query}" if asked.query else "")
        headers = {key: request.headers[key] for key in _PASSED_ON if request.headers[key]}
        reply = httpx2.request(
            request.command,
            f"{self.fake.url}{where}",
            content=body,
            headers=headers,
            timeout=30,
            verify=TRUSTS_NOBODY,
        )
        return reply.status_code, reply.content

    def _issues(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found = self.fake.ask(
            "GET", f"/repos/{wanted['owner']}/{wanted['repo']}/issues?state=all&per_page=100"
        )
        shown = found[: wanted["first"]]
        nodes: list[dict[str, object]] = [
            {
                "number": issue["number"],
                "title": issue["title"],
                "body": issue["body"],
                "state": issue["state"].upper(),
                "databaseId": issue["id"],
                "author": {"login": issue["user"]["login"]},
                "createdAt": issue["created_at"],
                "updatedAt": issue["updated_at"],
                "labels": {"nodes": []},
                "comments": {"totalCount": issue["comments"]},
            }
            for issue in shown
        ]
        page = {"hasNextPage": len(shown) < len(found), "hasPreviousPage": False}
        page |= {"startCursor": "", "endCursor": ""}
        return {
            "repository": {
                "issues": {"nodes": nodes, "pageInfo": page, "totalCount": len(found)},
            }
        }


class Request(BaseHTTPRequestHandler):
    """One request of a client that takes this for its proxy."""

    def handle_one_request(self) -> None:
        """Answer it, whatever its method."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        status, answer = cast("Proxy", self.server).answer(self, body)
        self.send_response_only(status)  # the other one writes a line on standard error
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@contextmanager
def open_enterprise(fake: GitHubFake) -> Generator[str]:
    """Give the address of a proxy behind which `HOST` is a GitHub Enterprise that is *fake*."""
    proxy = Proxy(fake)
    thread = threading.Thread(target=proxy.serve_forever, name="enterprise")
    thread.start()
    try:
        yield proxy.url
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
