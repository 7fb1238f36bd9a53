"""What the benchmarks share: data sets, runs that are stored and resumed, clocks, tables, pictures and peers."""
