"""Consolidation behind the interfaces of other libraries."""
