"""Numbers only: no labels, no files."""
