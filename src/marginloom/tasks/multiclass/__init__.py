"""One class per example."""
