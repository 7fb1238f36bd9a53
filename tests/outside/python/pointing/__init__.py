"""Pointing at one of several things: a task from another distribution, as docs/architecture.md tells."""
