"""Formats of taxonomies, one a file."""
