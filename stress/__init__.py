"""Checks that take longer than tests may: kills, fuzzing. ``make stress`` runs them."""
