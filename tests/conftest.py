import os
import signal
import sys
from pathlib import Path

# Before NumPy is loaded, here and in every process that a test starts: the matrices are small, and several tests run at
# once, so the threads of a linear algebra library would mostly wait for each other, which costs more than all else.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

# How long an example takes depends on who else uses the machine.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# A shell lets what it runs in the background ignore these, and every program that a test starts would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)


def pytest_xdist_auto_num_workers():
    """One more process than cores: some tests wait for the disk, or for programs that they have started."""
    return (os.cpu_count() or 1) + 1
