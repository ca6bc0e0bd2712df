"""Speed, measured beside peers and physical bounds in the same run."""
