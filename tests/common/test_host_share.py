"""Processes of one job on a host share its cores and its memory."""

import numpy as np
import pytest

from marginloom.clusters.ranks import CORES, Ranks
from marginloom.common.host_share import HostShare, sharing_host
from marginloom.common.memory_limits import memory_room
from marginloom.common.threads import available_cores, resolve_threads


def test_threads_are_those_of_the_share(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr("marginloom.common.threads.container_limit", lambda: 12.0)
    with sharing_host(HostShare(4, cores=3)):
        assert available_cores() == resolve_threads(-1) == resolve_threads(None) == 3
        assert resolve_threads(8) == 8
    with sharing_host(HostShare(4, cores=40)):
        assert available_cores() == 12


def test_memory_is_that_of_the_share(monkeypatch):
    monkeypatch.setattr("marginloom.common.memory_limits._free_memory", lambda: 1e9)
    monkeypatch.setattr("marginloom.common.memory_limits.control_group_rooms", lambda *_: [])
    with sharing_host(HostShare(4)):
        assert memory_room().size == 250_000_000
        assert memory_room().reason == "free on this machine, shared by 4 processes"
    with sharing_host(HostShare(1, memory=1)):
        assert memory_room().reason == "left by the memory limit of its worker"
        assert memory_room().size == 2
    assert memory_room().size == 1_000_000_000


def ranks(hosts, cores, rank):
    """The ranks of a job, as one of them knows them."""
    found = Ranks.__new__(Ranks)
    found.rank = rank
    found._hosts = np.array([[ord(host)] for host in hosts], dtype=np.uint8)
    found._cores = np.zeros((len(hosts), CORES), dtype=np.uint8)
    for row, own in zip(found._cores, cores, strict=True):
        row[list(own)] = 1
    return found


@pytest.mark.parametrize(
    ("hosts", "cores", "shares"),
    [
        ("ab", [range(8), range(8)], [(1, 8), (1, 8)]),
        ("aa", [range(8), range(8)], [(2, 4), (2, 4)]),
        ("aa", [range(4), range(4, 8)], [(2, 4), (2, 4)]),  # bound to cores of their own
        ("aab", [range(6), range(4, 6), range(8)], [(2, 5), (2, 1), (1, 8)]),
        ("aaa", [range(2)] * 3, [(3, 1)] * 3),
    ],
)
def test_ranks_share_the_cores_that_several_may_use(monkeypatch, hosts, cores, shares):
    monkeypatch.setattr("marginloom.clusters.ranks.container_limit", lambda: np.inf)
    found = [ranks(hosts, cores, rank).host_share() for rank in range(len(hosts))]
    assert [(share.processes, share.cores) for share in found] == shares


def test_ranks_share_the_limit_of_their_container(monkeypatch):
    monkeypatch.setattr("marginloom.clusters.ranks.container_limit", lambda: 6.0)
    assert ranks("aa", [range(16), range(16)], 0).host_share().cores == 3
