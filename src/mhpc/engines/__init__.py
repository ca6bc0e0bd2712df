"""Where the votes of a run are held and worked on."""
