"""Training runs: their description, the loop of passes, and what they leave behind."""
