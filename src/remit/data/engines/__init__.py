"""The databases that the tools work on, behind one port."""
