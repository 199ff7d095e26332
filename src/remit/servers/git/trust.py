"""What of a repository's own settings counts when it is only read: nothing that runs a program.

Status, diff and log are asked of repositories before anybody has looked at them. Their hooks run
when something is written, as everybody expects of git. Reading runs none, and no filter
(`filter.*` in the repository's own settings; those of the user's settings are the user's), no
file system monitor, no diff or textconv program, and fetches nothing.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_FILTER = re.compile(r"filter\.(.*)\.[^.]*", re.IGNORECASE | re.DOTALL)
_READING: Final = {
    # A partial clone would fetch what it lacks, by whatever program its settings name.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def reading_environment(environ: Mapping[str, str], own: Iterable[str]) -> dict[str, str]:
    """Return the environment in which git reads.

    Args:
        environ: The one in which it writes.
        own: The keys that the repository's own settings hold.
    """
    filters = {found[1] for key in own if (found := _FILTER.fullmatch(key))}
    settings = [("core.hooksPath", "/dev/null"), ("core.fsmonitor", "false")]
    for name in sorted(filters):
        # An empty command is none; what is not `required` may be missing.
        settings += [(f"filter.{name}.{key}", "") for key in ("clean", "smudge", "process")]
        settings.append((f"filter.{name}.required", "false"))
    counted = environ.get("GIT_CONFIG_COUNT", "0")
    begin = int(counted) if counted.isdigit() else 0
    added = {"GIT_CONFIG_COUNT": str(begin + len(settings))}
    for number, (key, value) in enumerate(settings, begin):
        added |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**environ, **_READING, **added}
