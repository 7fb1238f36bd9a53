"""Standard input that can be interrupted at any moment."""

import io
import os
import select
import signal
import threading

import pytest

from marginloom.io.standard_input import standard_input


@pytest.fixture
def writer(monkeypatch):
    """The other end of a pipe that is standard input."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb", buffering=0) as other:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        yield other


def test_what_comes_through_a_pipe_is_read_to_its_end(writer):
    assert standard_input() is standard_input()
    writer.write(b"one\ntwo\n")
    assert standard_input().readline() == b"one\n"
    writer.write(b"three")
    writer.close()
    assert standard_input().read() == b"two\nthree"
    standard_input().close()
    assert standard_input().closed


def test_another_thread_reads(writer):
    read = []
    thread = threading.Thread(target=lambda: read.append(standard_input().read()))
    thread.start()
    writer.write(b"text")
    writer.close()
    thread.join()
    assert read == [b"text"]


def test_a_signal_that_comes_just_before_the_wait_ends_it(writer, monkeypatch):
    """Its handler has run by then, but Python may also note a signal and run the handler after the wait only."""
    wait, woken = select.select, []

    def wait_after_a_signal(readers, *others):
        if woken:
            writer.write(b"text")
            return wait(readers, *others)
        signal.raise_signal(signal.SIGUSR1)
        ready = wait(readers, *others, 60)
        woken.extend(ready[0])
        return ready

    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        monkeypatch.setattr(select, "select", wait_after_a_signal)
        assert standard_input().read(4) == b"text"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(woken) == 1
    assert signal.set_wakeup_fd(-1) == -1
