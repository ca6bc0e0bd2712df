"""Speed: times compared with the plain implementation of the paper, lower bounds and scikit-learn."""
