"""The sign-in of an open gateway's console."""

import os
from dataclasses import dataclass

from remit.admin.change_record import ChangeRecord
from remit.admin.secret_files import session_key
from remit.app.gateway import Gateway
from remit.app.when_needed import WhenNeeded
from remit.doors.console.rendering import Rendering
from remit.doors.console.sessions import Sessions
from remit.doors.console.sign_in_page import SignInPage
from remit.doors.console.signing_in import AtProvider, SigningIn
from remit.doors.oauth import ProtectedResources
from remit.identity.sessions import People, SignIns
from remit.model.oidc import OidcProvider
from remit.storage.console_sessions import ConsoleSessions


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """What the console needs to know its visitors.

    Attributes:
        sessions: Says who sent a request.
        signing_in: Has the routes of the sign-in.
    """

    sessions: Sessions
    signing_in: SigningIn


def build_sign_in(gateway: Gateway, resources: ProtectedResources, rendering: Rendering) -> SignIn:
    """Return what signs people in.

    Args:
        gateway: Open, and kept open while the console serves.
        resources: How this gateway is called.
        rendering: Makes pages of templates.
    """
    people = People(
        lambda: provider_of(gateway), users=gateway.installation.users, tenants=gateway.tenants
    )
    sign_ins = SignIns(ConsoleSessions(gateway.installation.database), gateway.authenticate, people)
    sessions = Sessions(
        sign_ins,
        addresses=resources,
        changes=ChangeRecord(gateway.audit),
        revision=lambda tenant: _revision(gateway, tenant),
    )
    page = SignInPage(sessions, rendering, has_provider=lambda: provider_of(gateway) is not None)
    at_provider = WhenNeeded(lambda: _open_provider(gateway, page, sessions, sign_ins))
    signing_in = SigningIn(page, sessions, sign_ins, at_provider.get)
    return SignIn(sessions=sessions, signing_in=signing_in)


def provider_of(gateway: Gateway) -> OidcProvider | None:
    """Return where people sign in: what the home tenant declares, for the people of all."""
    return gateway.home.policy.declaration.oidc


def _open_provider(
    gateway: Gateway, page: SignInPage, sessions: Sessions, sign_ins: SignIns
) -> AtProvider:
    # Deferred: it takes 15 MB and half a second, and nobody needs it who signs in by key.
    from remit.doors.console.begun import BegunSeal  # noqa: PLC0415 - see above
    from remit.doors.console.provider import ProviderSignIn  # noqa: PLC0415 - see above
    from remit.identity.oidc import Flows  # noqa: PLC0415 - see above

    settings = gateway.installation.settings
    return ProviderSignIn(
        page,
        sessions,
        sign_ins,
        flow=Flows(lambda: provider_of(gateway), os.environ),
        seal=BegunSeal(session_key(settings.state)),
    )


def _revision(gateway: Gateway, tenant: str) -> int:
    served = gateway.tenants.find(tenant)
    return 0 if served is None else served.policy.revision
