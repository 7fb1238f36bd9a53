import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# How long an example takes depends on who else uses the machine.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# A shell lets what it runs in the background ignore these, and every program that a test starts would inherit that.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)
