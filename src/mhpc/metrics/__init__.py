"""Metrics as values."""
