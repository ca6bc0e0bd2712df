"""Votes + taxonomy -> Panel."""
