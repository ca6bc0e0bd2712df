"""Selecting and calibrating methods without truth, by cross-validation over sources."""
