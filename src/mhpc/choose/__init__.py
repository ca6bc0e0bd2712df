"""Choosing without truth: methods judged by how well they foretell answers that were hidden."""
