"""The machine: memory, threads, processes, disk."""
