"""Reading: files and dataframes in any known format become Votes, Taxonomy and Truth."""
