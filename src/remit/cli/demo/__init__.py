"""`remit demo`: the main job on real input, with nothing to prepare."""
