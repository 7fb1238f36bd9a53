"""What launchers say of the processes that they have started."""

import pytest

from marginloom.clusters.launcher import check_started_once, launched, launched_rank
from marginloom.errors import InputError


@pytest.mark.parametrize("variable", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"])
def test_several_processes_without_a_cluster(variable):
    with pytest.raises(InputError, match=rf"4 processes were started \({variable}\), .*; give --cluster mpi"):
        check_started_once(None, {variable: "4"})
    check_started_once(None, {variable: "1"})


def test_a_driver_of_dask_is_started_once():
    for variable in ("PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        with pytest.raises(InputError, match="the same model; start one process"):
            check_started_once("dask", {variable: "4", "SLURM_NTASKS": "4"})
    check_started_once("dask", {"SLURM_NTASKS": "4"})  # in a job with workers beside it


@pytest.mark.parametrize("value", ["", "four", "²", "-1"])
def test_what_is_no_number_says_nothing(value):
    assert launched({"PMI_SIZE": value}) == (1, "")


def test_a_rank_without_others_is_the_first():
    assert launched_rank({"PMI_RANK": "3"}) == 0
    assert launched_rank({"PMI_SIZE": "4", "PMI_RANK": "3"}) == 3
    assert launched_rank({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}) == 1
    assert launched_rank({"SLURM_NTASKS": "2", "SLURM_PROCID": "1"}) == 1
