"""What the tasks share, under the names that it has in each of them."""
