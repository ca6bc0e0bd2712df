"""Speed: times against a transcription of the paper, lower bounds and scikit-learn."""
