"""What every part uses: parameters that check themselves, threads, memory, sparse matrices, shared texts."""
