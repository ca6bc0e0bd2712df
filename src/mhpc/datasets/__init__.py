"""Data sets: a bundled example, and the yeast data of the paper."""
