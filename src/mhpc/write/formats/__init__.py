"""The formats that are written: one a file, each with its parameters."""
