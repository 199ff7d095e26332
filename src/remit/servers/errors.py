"""The one error that the tools of bundled servers raise on purpose."""


class ToolError(Exception):
    """What a tool will not or could not do, in words for the model, with what to do next."""
