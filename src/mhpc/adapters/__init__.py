"""Thin layers that give consolidation the manners of other libraries."""
