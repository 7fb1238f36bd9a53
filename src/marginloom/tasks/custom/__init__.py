"""Structures of users, in plain Python."""
