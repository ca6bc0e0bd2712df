"""Data sets: a small one written for this project."""
