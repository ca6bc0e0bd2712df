"""Numerics of the paper that know nothing of what labels mean."""
