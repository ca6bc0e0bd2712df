"""Evaluation: metrics as values, each with a name and a direction."""
