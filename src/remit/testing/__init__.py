"""Fakes and fixture servers for tests of remit and of programs that use it."""
