"""Sequences: one label per token."""
