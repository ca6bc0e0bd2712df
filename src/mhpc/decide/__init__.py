"""Decisions: from scores to label sets that respect the hierarchy."""
