"""One method a file, a registry by name."""
