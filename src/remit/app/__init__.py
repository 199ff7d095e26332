"""The composition root, from settings to open doors: nothing else in remit puts things together."""
