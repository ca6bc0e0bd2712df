"""The nouns: frozen data that every stage takes and returns."""
