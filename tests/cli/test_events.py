"""`remit events`: what did not arrive is shown, and told once more."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
import typer.testing

from remit.cli.main import app
from remit.crew.webhooks import subscriber_name
from remit.model.crew import Change, CrewEvent
from remit.model.outbox import DeadLetter
from remit.storage.crew import Crew
from remit.storage.database import default_url, open_database
from remit.storage.notices import Notices
from remit.storage.outbox import Outbox
from remit.testing.faulty_web import Fault, as_json, open_faulty_web

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "remit.yaml"
    path.write_text('version: "1.0"\n')
    return path


def remit(config: Path, *arguments: str, status: int = 0) -> str:
    result = typer.testing.CliRunner().invoke(app, [*arguments, "--config", str(config)])
    assert result.exit_code == status, result.output
    return result.output


def put_aside(folder: Path, name: str, ids: Sequence[str]) -> None:
    async def write() -> None:
        async with open_database(default_url(folder / ".remit")) as database:
            outbox = Outbox(database)
            await outbox.subscribe(name)
            await outbox.claim(name, "test", now=NOW, until=NOW)
            for number, event_id in enumerate(ids, start=1):
                event = CrewEvent(
                    id=event_id, tenant="default", topic="mail.sent", payload={}, created=NOW
                )
                await Crew(database, Notices(database)).apply(Change(events=(event,)))
                letter = DeadLetter(
                    subscriber=name,
                    number=number,
                    event=event,
                    attempts=12,
                    problem="status 500",
                    died=NOW,
                )
                await outbox.give_up("test", letter)

    anyio.run(write)


def test_dead_letters_are_shown_and_told_once_more(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_faulty_web(lambda _: as_json({})) as web:
        monkeypatch.setenv("REMIT_EVENTS_URL", web.url)
        monkeypatch.setenv("REMIT_EVENTS_SECRET", "s")
        monkeypatch.setenv("REMIT_EVENTS_PRIVATE", "true")
        assert remit(config, "events", "list") == "no subscribers\n"
        name = subscriber_name(web.url)
        put_aside(config.parent, name, ["e1", "e2"])

        shown = remit(config, "events", "list")
        assert "2 dead letters:" in shown
        assert shown.count("status 500") == 2
        listed = json.loads(remit(config, "events", "list", "--json"))
        assert [each["id"] for each in listed["dead_letters"]] == ["e1", "e2"]
        assert [each["ahead"] for each in listed["subscribers"]] == [0]

        web.fail(Fault(status=500))
        told = remit(config, "events", "retry", status=3)
        assert told == "1 dead letter arrived, 1 did not\n"
        assert json.loads(remit(config, "events", "retry", "--json")) == {"arrived": 1, "left": 0}

        assert [one.headers["webhook-id"] for one in web.seen] == ["e1", "e2", "e1"]
        assert "dead letter" not in remit(config, "events", "list")
