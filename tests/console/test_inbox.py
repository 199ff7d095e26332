"""The page "Inbox": what agents ask is read as text, and answered once (S3.14, R25)."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import uuid4

import pytest
from tests.console.office import Office
from tests.console.reading import Reading
from tests.console.visits import Visit

from remit.client import Client, agents, inbox, keys
from remit.model.crew import Change, Mail
from remit.storage.crew import Crew
from remit.storage.database import default_url, open_database
from remit.storage.notices import Notices

HOSTILE = (
    "first line\n  <script>alert(1)</script>\n<img src=x onerror=alert(2)>\n"
    "<a href='javascript:alert(3)'>here</a> {{ 7 * 7 }} \x1b[31mred\x07 \u202egnp.exe"
)


@contextmanager
def asking(office: Office) -> Generator[Client]:
    """Give a client with the key of a worker of its own."""
    name = f"w-{uuid4().hex[:10]}"
    office.client().ask(agents.create(name, type="WORKER", role="devops_engineer"))
    key = office.client().ask(keys.create(name, agent=name)).key
    with Client(office.base, key=key, timeout=60) as client:
        yield client


def send(client: Client, subject: str, body: str) -> str:
    given = {"toHuman": True, "subject": subject, "body": body}
    answer = client.call_tool("mail__send", given).structured
    assert answer is not None
    return str(answer["mailId"])


def answers(client: Client) -> list[str]:
    """Return what the agent finds in its mail."""
    found = client.call_tool("mail__list_inbox", {"includeRead": True}).structured
    assert found is not None
    return [mail["body"] for mail in found["mails"]]


def newest(page: str) -> str:
    found = re.search(r'name="newest" value="([^"]*)"', page)
    assert found is not None
    return found[1]


@pytest.fixture
def visit(office: Office) -> Visit:
    return office.visit("administrator")


def test_the_agent_reads_the_answer_and_the_thread_shows_both(office: Office, visit: Visit) -> None:
    subject = f"Port {uuid4().hex[:6]}"
    with asking(office) as agent:
        mail = send(agent, subject, "8400 or 8401?")
        where = f"/inbox/{mail}"

        page = visit.do(
            f"{where}/reply", newest=newest(visit.page(where)), body="8401.\r\n\r\nThe last one."
        )

        assert "Your answer is sent" in page.text
        assert answers(agent) == ["8401.\n\nThe last one."]
        assert page.text.index("8400 or 8401?") < page.text.index("8401.\n\nThe last one.")
        again = send(agent, f"Re: {subject}", "And the host?")
    thread = visit.page(f"/inbox/{again}")
    order = [thread.index(text) for text in ("8400 or", "The last one.", "And the host?")]
    assert order == sorted(order)


def test_mail_is_unread_until_it_is_answered_or_marked(office: Office, visit: Visit) -> None:
    """To look at it is a GET, which changes nothing."""
    with asking(office) as agent:
        mail = send(agent, "Look", "at this")

        def is_unread() -> bool:
            unread = visit.page("/inbox").partition("<h2>Not read</h2>")[2].partition("<h2>")[0]
            return mail in unread

        visit.page(f"/inbox/{mail}")
        assert is_unread()
        assert "Marked as read: Look" in visit.do(f"/inbox/{mail}/read").text
        assert not is_unread()
        assert mail in visit.page("/inbox")
        assert f"/inbox/{mail}/read" not in visit.page(f"/inbox/{mail}")


def test_two_who_answer_at_once_do_not_both_answer(office: Office, visit: Visit) -> None:
    with asking(office) as agent:
        mail = send(agent, "Once", "only")
        where = f"/inbox/{mail}"
        before = newest(visit.page(where))
        office.client().ask(inbox.reply(mail, "I did."))

        refused = visit.post(f"{where}/reply", newest=before, body="so <did> I")

        assert refused.status_code == 409
        assert "There is newer mail since this page was loaded" in refused.text
        assert "I did." in refused.text
        assert "so &lt;did&gt; I</textarea>" in refused.text
        assert answers(agent) == ["I did."]
        visit.do(f"{where}/reply", newest=newest(refused.text), body="so did I")
        assert answers(agent) == ["so did I", "I did."]


def test_an_empty_answer_is_refused(office: Office, visit: Visit) -> None:
    with asking(office) as agent:
        mail = send(agent, "Words", "please")

        refused = visit.post(
            f"/inbox/{mail}/reply", newest=newest(visit.page(f"/inbox/{mail}")), body=" \n "
        )

        assert refused.status_code in {400, 422}
        assert answers(agent) == []
        nothing = visit.post(
            f"/inbox/{mail}/reply", newest=newest(visit.page(f"/inbox/{mail}")), body=""
        )
        assert "body: must not be empty" in nothing.text


def test_hostile_mail_is_text(office: Office, visit: Visit) -> None:
    """Markup is not markup, lines stay lines, and what would act on the eye is a picture."""
    with asking(office) as agent:
        mail = send(agent, "<b>bold</b> \u202ebold", HOSTILE)
    pages = [visit.page("/inbox"), visit.page(f"/inbox/{mail}")]

    for page in pages:
        assert Reading(page).inline == []
        assert "<b>bold" not in page
        assert "\u202e" not in page
    letter = pages[1].partition('class="said-in-mail">')[2].partition("</p>")[0]
    assert "<" not in letter
    assert unescape(letter) == HOSTILE.replace("\x1b", "\u241b").replace("\x07", "\u2407").replace(
        "\u202e", "\ufffd"
    )


def test_an_auditor_reads_mail_and_answers_none(office: Office) -> None:
    with asking(office) as agent:
        mail = send(agent, "Audit", "of this")
    auditor = office.visit("auditor")

    page = auditor.page(f"/inbox/{mail}")

    assert "of this" in page
    assert 'method="post"' not in page.partition("<main")[2]
    assert auditor.post(f"/inbox/{mail}/reply", body="no").status_code == 403
    assert auditor.post(f"/inbox/{mail}/read").status_code == 403
    (unread,) = (m for m in office.client().ask(inbox.list_newest()).items if m.id == mail)
    assert unread.read is None


async def test_large_mails_hide_no_other_mail(office: Office, visit: Visit) -> None:
    """They are older than all that others look at, and fill several pages by their size."""
    prefix, then = f"old-{uuid4().hex[:6]}", datetime(2020, 1, 1, tzinfo=UTC)
    mails = [
        Mail(
            id=f"{prefix}-{n:02}",
            tenant="default",
            sender="agent:gone",
            to_agent="",
            subject="old",
            body="x" * 65_000,
            created=then - timedelta(seconds=n),
            read=then if n % 2 else None,
        )
        for n in range(70)
    ]
    async with open_database(default_url(office.folder / ".remit")) as database:
        await Crew(database, Notices(database)).apply(Change(mails=tuple(mails)))

    def walk(link: str) -> str:
        """Return every page from the first on, as that link leads."""
        pages = [visit.page("/inbox")]
        while found := re.search(f'href="([^"]*)">{link}</a>', pages[-1]):
            pages.append(visit.http.get(unescape(found[1])).text)
            assert "Show the newest mail" in pages[-1]
        assert len(pages) > 2
        return "".join(pages)

    every, unread = walk("Show older mail"), walk("Show older mail that is not read")

    assert {mail.id for mail in mails} <= set(re.findall(r"old-\w{6}-\d\d", every))
    assert {mail.id for mail in mails[::2]} <= set(re.findall(r"old-\w{6}-\d\d", unread))
    assert visit.get("/inbox", older="nonsense").status_code == 422


def test_mail_that_there_is_not_is_said(visit: Visit) -> None:
    assert visit.get("/inbox/none").status_code == 404
    assert visit.post("/inbox/none/reply", body="x", newest="").status_code == 404
