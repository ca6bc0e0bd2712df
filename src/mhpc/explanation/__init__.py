"""Why, who and where."""
