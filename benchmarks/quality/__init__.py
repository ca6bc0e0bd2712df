"""Quality: how near the methods come to a known truth."""
