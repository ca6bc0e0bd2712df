"""Writing: votes, taxonomies and results to files, in our formats and in those of other tools."""
