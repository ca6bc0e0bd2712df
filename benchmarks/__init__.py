"""Benchmarks: how fast and how good, measured beside what others offer."""
