"""From votes and a taxonomy to a panel, with gold labels."""
