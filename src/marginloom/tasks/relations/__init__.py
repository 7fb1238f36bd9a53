"""Entities and relations under constraints: types of given spans, and relations between them."""
