"""Scores -> label sets."""
