"""Choosing a method without truth."""
