"""Methods: one a file, found by name in `mhpc.consolidate.registry`."""
