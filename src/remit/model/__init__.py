"""The nouns of remit as frozen values: no I/O, no clock."""
