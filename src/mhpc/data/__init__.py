"""The nouns, all frozen; imports nothing but errors and numerics."""
