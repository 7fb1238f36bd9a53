"""What the command line knows of structures of the user's own: how to show a model. The rest needs the class."""

from __future__ import annotations

from marginloom.commands.task_commands import ShownModel
from marginloom.tasks.custom.model import CustomModel


class CustomCommands(ShownModel[CustomModel]):
    """Inspect for structures of the user's own."""

    model_type = CustomModel
    other_way = "predict and evaluate in Python, with the class: CustomEstimator.load(path, task=...)"

    def describe(self, model: CustomModel) -> list[tuple[str, str]]:
        """Return the line of `inspect` on what the task is made with."""
        given = ", ".join(f"{name}={value!r}" for name, value in model.parameters.items())
        return [("parameters", given or "none")]


COMMANDS = CustomCommands()
