"""Writing: tables and run folders, whole or not at all."""
