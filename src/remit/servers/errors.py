"""The one error that the tools of bundled servers raise on purpose."""

from collections.abc import Mapping


class ToolError(Exception):
    """What a tool will not or could not do, in words for the model, with what to do next.

    Attributes:
        code: A code of remit's own for programs, or empty.
        details: More for programs; never a secret.
    """

    def __init__(
        self, message: str, *, code: str = "", details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.details = details or {}
