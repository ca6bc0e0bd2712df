"""Formats of votes, one a file: how each is recognised, and how it becomes a long table."""
