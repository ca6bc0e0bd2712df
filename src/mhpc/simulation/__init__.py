"""Simulation: sources made from a truth, vague and noisy to a stated degree."""
