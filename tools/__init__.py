"""Packaging checks and the script that makes the bundled example."""
