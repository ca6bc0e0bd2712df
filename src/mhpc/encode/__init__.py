"""Encoding: texts meet the taxonomy, answers become sparse rows."""
