"""Metrics of scores and label sets against the truth."""
