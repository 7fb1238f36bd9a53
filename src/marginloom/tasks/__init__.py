"""What is predicted: one file a structure."""
