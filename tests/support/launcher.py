"""Processes of the program without the time that it takes to start: one has loaded it, and forks for every call.

`Launcher` starts it; run as a script, this file is what it starts. Both talk over a socket: arguments, folder and
standard streams one way, the process's number and how it ended the other.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

LOADED = ("marginloom.cli.app", "numpy.random", "rich.progress")


class Launcher:
    """Starts processes that have read the environment in which it was made."""

    def __init__(self):
        self._socket, other = socket.socketpair()
        with other:
            command = [sys.executable, __file__, str(other.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[other.fileno()])
        self._answers = self._socket.makefile("r")

    def run(self, arguments, streams, options, *, timeout):
        """Run the program on open files, and return its exit code; `TimeoutExpired` after so many seconds."""
        request = {"arguments": arguments, **options}
        socket.send_fds(self._socket, [json.dumps(request).encode()], [stream.fileno() for stream in streams])
        process = int(self._answers.readline())
        self._socket.settimeout(timeout)
        try:
            return os.waitstatus_to_exitcode(int(self._answers.readline()))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            self._socket.close()
            raise subprocess.TimeoutExpired(arguments, timeout) from None
        finally:
            with suppress(OSError):
                self._socket.settimeout(None)


def _load():
    """Import what the program imports, also what its first call does."""
    for name in LOADED:
        __import__(name)
    from marginloom.cli import run

    said = os.dup(1)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        run(["train", "tag", "--help"])
    os.dup2(said, 1)
    os.close(said)


def _become(request, descriptors):
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    if request["on_one_core"]:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.argv = ["marginloom", *request["arguments"]]


def _serve(channel):
    """Fork for every request; returns in the process that is to become the program, or when nobody asks any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            return False
        process = os.fork()
        if process == 0:
            channel.close()
            _become(json.loads(message), descriptors)
            return True
        for descriptor in descriptors:
            os.close(descriptor)
        channel.sendall(f"{process}\n".encode())
        channel.sendall(f"{os.waitpid(process, 0)[1]}\n".encode())


def _ended():
    """Run the program and what is to be done at its end; return its exit code."""
    from marginloom.cli import main

    try:
        main()
    except SystemExit as end:
        atexit._run_exitfuncs()
        return end.code
    raise AssertionError("the program ends with an exit code")


def _end(code):
    """End the process; to take the interpreter apart would copy nearly all memory that was shared with the launcher."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(ValueError):  # the program has closed it
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _load()
    gc.collect()
    gc.freeze()
    if _serve(socket.socket(fileno=int(sys.argv[1]))):
        _end(_ended())
