"""Files and frames -> Votes, Taxonomy, Truth."""
