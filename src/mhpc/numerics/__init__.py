"""Numerical algorithms on arrays; nothing here knows about labels or files."""
