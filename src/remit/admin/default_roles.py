"""The nine roles that ship with remit (S0.8): the matrix is data, `defaults/nine_roles.yaml`."""

from importlib.resources import files
from typing import Any

from remit.admin.yaml_source import read_text

_FILE = "nine_roles.yaml"


def default_document() -> dict[str, Any]:
    """Return `{version, roles}` as plain data, a new copy each time; it declares no server."""
    text = files("remit.admin").joinpath("defaults", _FILE).read_text(encoding="utf-8")
    return dict(read_text(text, file=_FILE).data)
