"""`remit events`: who is told of what happens in the crew, and what did not arrive."""

from collections.abc import Sequence
from datetime import UTC, datetime

import typer

from remit.app.events import open_subscribers
from remit.app.installation import open_state
from remit.cli.lines import print_json, say
from remit.cli.output import (
    EXIT_UNREACHABLE,
    ConfigFlag,
    JsonFlag,
    as_rows,
    print_table,
    run,
)
from remit.crew.delivery import told
from remit.model.counts import counted
from remit.model.outbox import DeadLetter, Standing
from remit.settings import Settings
from remit.storage.outbox import Outbox

events_app = typer.Typer(help="Show who is told of events.", no_args_is_help=True)

_SUBSCRIBERS = ("subscriber", "ahead", "attempts", "due", "problem")
_LETTERS = ("subscriber", "event", "id", "died", "problem")


@events_app.command("list")
def list_events(config: ConfigFlag = None, as_json: JsonFlag = False) -> None:
    """Show how many events are ahead of each subscriber, and the dead letters."""
    standings, letters = run(lambda: _read(Settings.read(config)))
    subscribers = [
        {
            "subscriber": standing.name,
            "ahead": ahead,
            "attempts": standing.attempts,
            "due": standing.due,
            "problem": standing.problem,
        }
        for standing, ahead in standings
    ]
    dead = [
        {
            "subscriber": letter.subscriber,
            "event": letter.event.topic,
            "id": letter.event.id,
            "tenant": letter.event.tenant,
            "died": letter.died,
            "problem": letter.problem,
        }
        for letter in letters
    ]
    if as_json:
        print_json({"subscribers": subscribers, "dead_letters": dead})
        return
    print_table(_SUBSCRIBERS, as_rows(subscribers, _SUBSCRIBERS), empty="no subscribers")
    if dead:
        say("")
        say(f"{counted(len(dead), 'dead letter')}:")
        print_table(_LETTERS, as_rows(dead, _LETTERS), empty="")


@events_app.command()
def retry(config: ConfigFlag = None, as_json: JsonFlag = False) -> None:
    """Tell subscribers of their dead letters once more; needs the gateway's REMIT_EVENTS_*."""
    arrived, left = run(lambda: _retry(Settings.read(config)))
    if as_json:
        print_json({"arrived": arrived, "left": left})
    else:
        say(f"{counted(arrived, 'dead letter')} arrived, {left} did not")
    if left:
        raise typer.Exit(EXIT_UNREACHABLE)


async def _read(
    settings: Settings,
) -> tuple[Sequence[tuple[Standing, int]], Sequence[DeadLetter]]:
    async with open_state(settings) as state:
        outbox = Outbox(state.database)
        standings = [await outbox.backlog(standing.name) for standing in await outbox.standings()]
        return standings, await outbox.dead_letters()


async def _retry(settings: Settings) -> tuple[int, int]:
    arrived = left = 0
    async with (
        open_state(settings) as state,
        open_subscribers(settings, wanted=True) as subscribers,
    ):
        outbox = Outbox(state.database)
        by_name = {subscriber.name: subscriber for subscriber in subscribers}
        for letter in await outbox.dead_letters():
            subscriber = by_name.get(letter.subscriber)
            if subscriber is None or await told(subscriber, letter.event, datetime.now(UTC)):
                left += 1
                continue
            await outbox.bury(letter)
            arrived += 1
    return arrived, left
