"""Checks whether a judge's reply takes its own verdict back, denies it, or only quotes it."""
