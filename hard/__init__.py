"""Checks that take longer than tests may: kills, fuzzing. ``make hard`` runs them."""
