"""What a bundled server is told on its command line, or in the `args` of its entry."""

import argparse
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NoReturn


class ServerArguments(argparse.ArgumentParser):
    """An argument parser that raises where the standard one exits the process.

    Args:
        server: Its name, which begins each message.
    """

    def __init__(self, server: str) -> None:
        super().__init__(
            prog=f"{server} server", add_help=False, allow_abbrev=False, exit_on_error=False
        )
        self.add_argument("--read-only", action="store_true")  # every server has it

    def read(self, args: Sequence[str]) -> argparse.Namespace:
        """Read the arguments.

        Raises:
            ValueError: If they do not fit; the message is one line, and names those that do.
        """
        try:
            found, unknown = self.parse_known_args(args)
        except argparse.ArgumentError as error:
            raise ValueError(f"{self.prog}: {error}") from error
        if unknown:  # of which `parse_args` says something else from Python 3.12 on
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Raise what the standard parser would print before it exits."""
        usage = " ".join(self.format_usage().split()[3:])
        raise ValueError(f"{self.prog}: {message}; expected {usage}")

    @contextmanager
    def naming(self) -> Generator[None]:
        """Let what is wrong with the server's settings begin with its name, too.

        Raises:
            ValueError: As it was raised inside.
        """
        try:
            yield
        except ValueError as error:
            raise ValueError(f"{self.prog}: {error}") from error
