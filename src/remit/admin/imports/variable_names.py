"""Names for the environment variables that stand where a value was taken out."""

from collections.abc import Collection

from remit.admin.imports.variables import variable_name
from remit.upstreams.environment import is_inherited, is_own


class VariableNames:
    """Hands out names: the same for the same value, another for another.

    Args:
        referred: Names that the files refer to already, whose values nobody knows here.
    """

    def __init__(self, referred: Collection[str]) -> None:
        self._referred = frozenset(referred)
        self._values: dict[str, str] = {}

    def take(self, preferred: str, server: str, value: str) -> str:
        """Return a name for *value* of *server*: *preferred*, if nothing else has it."""
        longer = variable_name(server, preferred)
        number, name = 1, preferred if self._is_free(preferred, value) else longer
        while not self._is_free(name, value):
            number += 1
            name = variable_name("server", longer, str(number))
        self._values[name] = value
        return name

    def _is_free(self, name: str, value: str) -> bool:
        if name in self._referred or is_own(name) or is_inherited(name):
            return False
        return self._values.get(name, value) == value
