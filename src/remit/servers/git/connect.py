"""How git proves itself to a remote: with what the environment has, and nothing else.

`GIT_CREDENTIALS` holds lines as git's own `store` helper keeps them, `https://user:token@host`,
apart by white space. Git finds them in a file that is there for the time of a push or fetch:
variables would be seen by every hook, and arguments by everybody on the machine.
"""

import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Final
from urllib.parse import unquote

from remit.servers.git.credentials import SHORTEST_SECRET
from remit.servers.git.run import Git

VARIABLE: Final = "GIT_CREDENTIALS"

_LINE = re.compile(r"https?://(?P<user>[^\s:/@]+):(?P<secret>[^\s:/@]+)@[^\s/@]+/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What the environment has for remotes.

    Attributes:
        lines: Addresses with user and secret, percent-encoded where need be.
        secrets: The secrets in them, in both spellings, to be kept out of outputs.
    """

    lines: tuple[str, ...] = field(default=(), repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def parse(cls, environ: Mapping[str, str]) -> "Credentials":
        """Read them.

        Raises:
            ValueError: If they do not fit; the message has no part of them.
        """
        lines = tuple(environ.get(VARIABLE, "").split())
        found = [_LINE.fullmatch(line) for line in lines]
        secrets = [one["secret"] for one in found if one is not None]
        if len(secrets) != len(lines):
            raise ValueError(
                f"{VARIABLE} has to be https://USER:TOKEN@HOST, or several of these apart by"
                " spaces, percent-encoded"
            )
        spellings = (*secrets, *map(unquote, secrets))
        return cls(
            lines=lines,
            secrets=frozenset(one for one in spellings if len(one) >= SHORTEST_SECRET),
        )

    @contextmanager
    def given_to(self, git: Git) -> Generator[Git]:
        """Give *git* such that it authenticates with these, and with no helper, if there are any.

        Without them git asks the helpers of its settings, as it would anyway.
        """
        if not self.lines:
            yield git
            return
        with tempfile.TemporaryDirectory(prefix="remit-git-") as folder:
            file = Path(folder) / "credentials"
            file.touch(mode=0o600)
            file.write_text("".join(f"{line}\n" for line in self.lines))
            settings = ("credential.helper=", f"credential.helper=store --file={quote(str(file))}")
            options = tuple(part for setting in settings for part in ("-c", setting))
            yield replace(git, options=(*git.options, *options))
