"""A real nginx with the server block of docs/deployment.md, and a certificate of its own."""

import os
import socket
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.docs.server import block

from remit.testing.loopback import LoopbackServer

NAME = "remit.example.test"
ORIGIN = f"https://{NAME}"

_AROUND = """daemon off;
master_process off;  # one process, so that none outlives it
pid nginx.pid;
error_log error.log;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include remit.conf;
}
"""


class Nginx(LoopbackServer):
    """Passes on to a gateway what comes by TLS.

    Args:
        program: Path of nginx.
        folder: Empty; its certificate is `remit.crt` there.
        gateway: Where the gateway listens, as host and port.
    """

    def __init__(self, program: str, folder: Path, gateway: str) -> None:
        super().__init__(program, folder)
        make_certificate(folder)
        text = block("# /etc/nginx/conf.d/remit.conf").text
        text = text.replace("server 127.0.0.1:8400;", f"server {gateway};")
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{self._port} ssl;")
        (folder / "remit.conf").write_text(text.replace("/etc/nginx/", f"{folder}/"))
        # who else could not enter the folder of a test
        user = "user root;\n" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(user + _AROUND)

    @property
    def port(self) -> int:
        """Where it listens, in the place of 443."""
        return self._port

    @property
    def certificate(self) -> Path:
        """What a client has to trust."""
        return self._folder / "remit.crt"

    def _options(self) -> Sequence[str]:
        return ("-p", str(self._folder), "-c", "nginx.conf", "-e", "error.log")

    def _greets(self, link: socket.socket) -> bool:
        context = ssl.create_default_context(cafile=self.certificate)
        with context.wrap_socket(link, server_hostname=NAME):
            return True


def make_certificate(folder: Path) -> None:
    """Write `remit.crt` and `remit.key` for the name of the page, and for loopback."""
    making = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    names = ("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1")
    files = ("-keyout", folder / "remit.key", "-out", folder / "remit.crt")
    subprocess.run(["openssl", *making, *files, *names], check=True, capture_output=True)
