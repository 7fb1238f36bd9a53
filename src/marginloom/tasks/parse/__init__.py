"""Dependency trees: the head of every word, and what it is to its head."""
