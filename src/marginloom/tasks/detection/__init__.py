"""A window and its label in every image."""
