"""The tools of a principal, native in the frameworks that agents are written in."""
