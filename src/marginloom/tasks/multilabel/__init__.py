"""Any subset of the labels."""
