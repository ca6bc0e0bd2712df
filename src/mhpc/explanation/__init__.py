"""Why a result is what it is: disputed labels, effects of answers, and profiles of sources."""
