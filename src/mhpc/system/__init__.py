"""What the machine offers: files, processes, memory, a database, checkpoints."""
