"""Votes simulated from a truth, with sources of stated vagueness and noise."""
