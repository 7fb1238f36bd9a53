"""Labels: as arrays, by numbers, and as the set that a model knows."""
