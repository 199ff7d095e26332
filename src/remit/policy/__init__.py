"""Who may call what: pure functions over an immutable snapshot."""
