"""Reviews of a run: the answers of reviewers, the files they are saved in, and a local server."""
