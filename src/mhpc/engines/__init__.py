"""Where votes are held and worked on."""
