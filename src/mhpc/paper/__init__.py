"""The paper's experiments, one a file, with the published figures as data."""
