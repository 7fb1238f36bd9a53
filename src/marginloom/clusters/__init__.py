"""How parts in other processes are asked: MPI, Dask, and copies in this process."""
