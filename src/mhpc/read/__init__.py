"""Reading: files and frames to Votes, Taxonomy and Truth, checked at the door."""
