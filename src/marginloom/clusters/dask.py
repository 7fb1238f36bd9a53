"""Dask clusters: how to reach one, or to start one on this machine."""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marginloom.clusters.dask_tasks import LOOK_INTERVAL, Tasks, first_line, no_worker, workers_of
from marginloom.clusters.dask_world import DaskWorld
from marginloom.common.host_share import HostShare, sharing_host
from marginloom.common.parameters import checked
from marginloom.common.threads import available_cores
from marginloom.errors import ClusterWarning, InputError
from marginloom.io.files import StrPath
from marginloom.training.interrupts import signals_held_back
from marginloom.training.world import Cluster, Recipe, Session, World

if TYPE_CHECKING:
    from distributed import Client

    from marginloom import _core
    from marginloom.training.part import Part

#: Seconds until another worker is asked too, if nothing else is said.
ANSWER_TIMEOUT = 300.0
#: Seconds in which a scheduler must answer at first.
_CONNECT_TIMEOUT = 15.0
_SILENT = logging.CRITICAL + 1


class Dask(Cluster):
    """Workers of a Dask cluster. They read the training files themselves, under the same names as this process.

    For training from files: `marginloom.train_files`, or ``marginloom train --cluster dask``.

    Parameters
    ----------
    scheduler : str or distributed.Client, optional
        Address of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or a client that is connected to one.
    workers : int, optional
        Instead: start a cluster with so many workers on this machine, for the time of a run.
    answer_timeout : float
        Seconds after which another worker is asked too if there is no answer; the first answer counts. A run ends if
        no worker answers for so long.
    tls_ca, tls_cert, tls_key : path, optional
        Certificate authority, certificate and key for an address that begins with ``tls://``.

    Examples
    --------
    >>> Dask("tls://scheduler:8786", tls_ca="ca.pem", tls_cert="cert.pem", tls_key="key.pem")
    Dask('tls://scheduler:8786')
    >>> Dask(workers=4)
    Dask(workers=4)
    """

    def __init__(
        self,
        scheduler: str | Client | None = None,
        *,
        workers: int | None = None,
        answer_timeout: float = ANSWER_TIMEOUT,
        tls_ca: StrPath | None = None,
        tls_cert: StrPath | None = None,
        tls_key: StrPath | None = None,
    ) -> None:
        if (scheduler is None) == (workers is None):
            raise InputError(
                "a Dask cluster needs the address of its scheduler (--scheduler) or a number of workers to start on "
                "this machine (--workers), and not both"
            )
        self.scheduler = scheduler
        self.workers: int | None = None if workers is None else checked("workers", workers, "positive count")
        self.answer_timeout: float = checked("answer_timeout", answer_timeout, "positive")
        self._tls = {"tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key}
        given = [name for name, path in self._tls.items() if path is not None]
        if isinstance(scheduler, str):
            _check_address(scheduler, bool(given))
        elif given:
            raise InputError(f"{given[0]} is for the address of a scheduler that begins with tls://")
        if given and len(given) < len(self._tls):
            raise InputError("TLS needs all of tls_ca, tls_cert and tls_key (--tls-ca, --tls-cert, --tls-key)")
        self._session: _DaskSession | None = None

    def __repr__(self) -> str:
        return f"Dask(workers={self.workers})" if self.scheduler is None else f"Dask({self.scheduler!r})"

    @contextmanager
    def session(self, recipe: Recipe | None = None) -> Iterator[Session]:
        """Connect to the scheduler; see `Cluster.session`."""
        if self._session is not None:
            yield self._session
            return
        if recipe is None:
            raise InputError(
                "Dask trains from files, which every worker reads: call marginloom.train_files, or train on examples "
                "in memory with MPI()"
            )
        with ExitStack() as open_things:
            share, client = self._connected(open_things)
            _warn_of_plain_text(client.scheduler.address)
            self._session = _DaskSession(client, recipe, self.answer_timeout, direct=self.workers is not None)
            try:
                with sharing_host(share):
                    yield self._session
            finally:
                self._session = None

    def _connected(self, open_things: ExitStack) -> tuple[HostShare, Client]:
        """Return the client, and what its workers leave to this process of the host."""
        try:
            from distributed import Client, LocalCluster, Security
            from distributed.utils import silence_logging_cmgr
        except ImportError as error:
            raise InputError(
                f"Dask cannot be used ({error}); install the extra with pip install 'marginloom[dask]'"
            ) from error
        if isinstance(self.scheduler, Client):
            if self.scheduler.asynchronous:
                raise InputError("the client of Dask must not be asynchronous: make it with Client(asynchronous=False)")
            return HostShare(), self.scheduler
        open_things.enter_context(silence_logging_cmgr(_SILENT))  # what a user must know is told by us
        if self.scheduler is None:
            assert self.workers is not None
            cores = max(1, available_cores() // self.workers)
            with signals_held_back(signal.SIGINT, signal.SIGHUP):  # by the workers for good: this process ends them
                cluster = open_things.enter_context(
                    LocalCluster(
                        n_workers=self.workers,
                        threads_per_worker=cores,
                        processes=True,
                        host="127.0.0.1",
                        dashboard_address="127.0.0.1:0",  # any port; there is no dashboard, but what tells its health
                        scheduler_kwargs={"dashboard": False},
                        memory_limit=0,
                        silence_logs=_SILENT,
                    )
                )
            return HostShare(self.workers + 1, cores), open_things.enter_context(Client(cluster, set_as_default=False))
        names = {"tls_ca": "tls_ca_file", "tls_cert": "tls_client_cert", "tls_key": "tls_client_key"}
        files = {names[name]: os.fspath(path) for name, path in self._tls.items() if path is not None}
        for path in files.values():
            Path(path).open("rb").close()  # says which one cannot be read
        security = Security(require_encryption=True, **files) if files else None
        address: Any = self.scheduler
        try:
            client = Client(address, timeout=_CONNECT_TIMEOUT, security=security, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"the scheduler at {self.scheduler} did not answer within {_CONNECT_TIMEOUT:g} s "
                f"({first_line(error)}); is it running there, and is this its address?"
            ) from error
        return HostShare(), open_things.enter_context(client)


def _check_address(address: str, with_tls: bool) -> None:
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if not (host and port.isascii() and port.isdigit()):
        raise InputError(f"the scheduler must be an address with a port, such as tcp://10.0.0.1:8786, not {address!r}")
    if with_tls != (scheme == "tls"):
        raise InputError(
            f"the address {address!r} does not begin with tls://, and certificates were given"
            if with_tls
            else f"the address {address!r} needs certificates: give tls_ca, tls_cert and tls_key (--tls-ca, "
            "--tls-cert, --tls-key)"
        )


_warned_of: set[str] = set()


def _warn_of_plain_text(address: str) -> None:
    """Warn once of an address beyond this machine to which nothing is encrypted."""
    scheme, _, place = address.rpartition("://")
    host = place.rpartition(":")[0].strip("[]")
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    if scheme in ("tls", "inproc") or host == "localhost" or address in _warned_of:
        return
    _warned_of.add(address)
    warnings.warn(
        ClusterWarning(
            f"nothing is encrypted between this process and the scheduler at {address}, and whoever reaches it can run "
            "code there; use tls:// outside of a network of your own, see docs/clusters.md"
        ),
        stacklevel=2,
    )


class _DaskSession(Session):
    recipe: Recipe

    def __init__(self, client: Client, recipe: Recipe, answer_timeout: float, *, direct: bool) -> None:
        self.recipe = recipe
        self._client = client
        self._answer_timeout = answer_timeout
        self._direct = direct

    @property
    def parts(self) -> int:
        """The workers that there are, once there is one."""
        deadline = time.monotonic() + self._answer_timeout
        while not (found := len(workers_of(self._client))):
            if time.monotonic() > deadline:
                raise no_worker(self._client, self._answer_timeout)
            time.sleep(LOOK_INTERVAL)
        return found

    def open(self, part: Part, decided: Mapping[str, Any], stop: _core.StopFlag) -> World:
        tasks = Tasks(self._client, self.recipe, decided, stop, direct=self._direct)
        world = DaskWorld(tasks, part.identity, self._answer_timeout)
        try:
            world.greet_all()
        except BaseException:
            world.close()
            raise
        return world
