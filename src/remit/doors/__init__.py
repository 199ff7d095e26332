"""Where callers come in."""
