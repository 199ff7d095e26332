"""The console of an open gateway."""

from remit.app.gateway import Gateway
from remit.app.sign_in import build_sign_in
from remit.doors.api.inside import Inside
from remit.doors.console.application import Console
from remit.doors.console.pages import PAGES
from remit.doors.console.rendering import Rendering
from remit.doors.guard import Guard
from remit.doors.oauth import ProtectedResources


def build_console(
    gateway: Gateway, inside: Inside, *, guard: Guard, resources: ProtectedResources
) -> Console:
    """Return what serves `/console`.

    Args:
        gateway: Open, and kept open while the application serves.
        inside: Asks the API, in this process.
        guard: Checks host and origin.
        resources: How this gateway is called.
    """
    rendering = Rendering(PAGES)
    sign_in = build_sign_in(gateway, resources, rendering)
    return Console(
        inside,
        sessions=sign_in.sessions,
        signing_in=sign_in.signing_in,
        rendering=rendering,
        guard=guard,
    )
