"""Model files that marginloom would not write."""

from unittest import mock

from marginloom.io import model


def save_unchecked(path, task, header, tensors):
    """Write what `save_model` writes, also where it could not be read again."""
    with mock.patch.object(model, "_check_json"):
        model.save_model(path, task, header, tensors)
