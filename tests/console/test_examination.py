"""An examination of everything, as `remit doctor` makes it, from the page "Servers"."""

import re
from html import unescape

from tests.console.office import Office

from remit.client import doctor

AT = "/servers/-examination"


def test_nothing_is_examined_before_somebody_asks_for_it(office: Office) -> None:
    visit = office.visit("administrator")

    page = visit.page(AT)

    assert f"/console{AT}" in visit.page("/servers")
    assert "Examine now" in page
    assert "What to look at" not in page


def test_what_is_found_is_what_the_api_tells_the_worst_first(office: Office) -> None:
    reply = office.visit("administrator").post(AT)

    told = office.client().ask(doctor.examine())
    page = unescape(re.sub(r"<[^>]*>", "", reply.text))
    assert reply.status_code == 200
    assert "Something is wrong" in page
    for finding in told.findings:
        if finding.about.startswith("server "):
            assert finding.message.partition(",")[0] in page, finding
    places = [reply.text.index(f'badge {tone}">') for tone in ("bad", "warn")]
    assert places == sorted(places)
    assert "no-such-program" in page


def test_only_an_administrator_lets_programs_start_for_it(office: Office) -> None:
    for who in ("auditor", "reviewer", "role"):
        assert office.visit(who).get(AT).status_code == 403
        assert office.visit(who).post(AT).status_code == 403
