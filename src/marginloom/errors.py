"""The errors and warnings of marginloom; the command line shows their text and no traceback."""


class MarginloomError(Exception):
    """Base of every error that marginloom raises."""


class InputError(MarginloomError, ValueError):
    """An argument, a file or a data set is not what it has to be."""


class CertificateError(MarginloomError, RuntimeError):
    """A certificate contradicts itself: a mistake of marginloom's own, never of its input."""


class ModelFileError(MarginloomError, ValueError):
    """A model or checkpoint file cannot be read."""


class OutputError(InputError):
    """A file cannot be written."""


class InputWarning(UserWarning):
    """Something of the input was left out or changed, or does not look like what it is taken for."""


class OutputWarning(UserWarning):
    """A file that a run does not depend on cannot be written, so the run goes on without it."""


class OptionWarning(UserWarning):
    """An option that was given has no effect, since what ``auto`` has chosen does not have it."""


class MemoryWarning(UserWarning):
    """Work needs more than half of the memory that the process may have."""


class ScoreWarning(UserWarning):
    """A score says nothing about the predictions, such as the recall of spans where there is none."""


class CalibrationWarning(UserWarning):
    """Probabilities were fitted on examples that say little about them."""


class PartError(MarginloomError, RuntimeError):
    """Another process of a run has failed, or gives answers that cannot be used."""


class ClusterWarning(UserWarning):
    """Something of a cluster is not as it should be, and training goes on: a worker was lost, or nobody encrypts."""
