"""Rules that turn scores into label sets."""
