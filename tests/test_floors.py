"""The parts of the package lie on floors: none knows of what is above it, or beside it."""

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from support.places import OUTSIDE, ROOT

import marginloom

SOURCE = Path(marginloom.__file__).parent

#: From the top to the bottom, one line a floor.
FLOORS = """
cli* spacy_component
tasks.*.commands
commands*
tasks.loading metrics testing
tasks.sequence* tasks.parse* tasks.multiclass* tasks.multilabel* tasks.detection* tasks.relations* tasks.custom* tasks
tasks.base*
clusters*
training*
algorithms
engines*
learners*
features* core*
io*
labels*
common* tasks.registry
errors
""".strip().splitlines()


#: The same of the folders of C++ sources.
CPP_FLOORS = ["tasks/*", "bindings", "engines", "learners io", "features", "core"]


def part_of(module: str) -> tuple[int, str]:
    """The floor of a module, counted from the top, and the part of the package there."""
    found = ((floor, part) for floor, parts in enumerate(FLOORS) for part in parts.split() if fnmatch(module, part))
    return next(found, (-1, module))


def imported_modules(source: str) -> set[str]:
    """The modules of the package that a source imports, but for those that only type checkers see."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    modules = {name if is_module(name) else name.rpartition(".")[0] for name in names}
    return {name.removeprefix("marginloom.") for name in modules if name.startswith("marginloom.")}


def is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def test_no_module_imports_from_a_higher_floor() -> None:
    upward = []
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        here = part_of(module)
        if module != "__init__":
            assert here[0] >= 0, f"{module} is on no floor: name its part in FLOORS"
            others = {other: part_of(other) for other in imported_modules(path.read_text())}
            upward += [f"{module}: {name}" for name, there in others.items() if there[0] <= here[0] and there != here]
    assert [line for line in upward if not line.endswith(": _core")] == []


def test_an_import_from_a_higher_floor_is_found() -> None:
    assert (
        part_of("tasks.parse.commands") < part_of("commands.help") < part_of("tasks.parse.model") < part_of("io.files")
    )
    source = (
        "from marginloom import _core\nfrom marginloom.training.train import train\nfrom marginloom.io import files\n"
    )
    assert imported_modules(source) - {"_core"} <= {"training.train", "io.files", "marginloom"}
    assert {"training.train", "io.files"} <= imported_modules(source)


def cpp_part_of(path: Path) -> tuple[int, str]:
    """The floor of a C++ source, counted from the top, and its folder."""
    folder = "/".join(path.parts[: 2 if path.parts[0] == "tasks" else 1])
    floors = [floor for floor, folders in enumerate(CPP_FLOORS) for one in folders.split() if fnmatch(folder, one)]
    assert floors, f"{folder} is on no floor: name it in CPP_FLOORS"
    return floors[0], folder


def included(root: Path, source: Path) -> list[Path]:
    """What a C++ source includes of the same tree, or of the project's."""
    names = re.findall(r'^#include "([^"]+)"$', (root / source).read_text(), re.MULTILINE)
    return [Path(name) if "/" in name else source.parent / name for name in names]


@pytest.mark.parametrize("root", [ROOT / "cpp", OUTSIDE / "native"], ids=["project", "extensions"])
def test_no_cpp_source_includes_from_a_higher_floor(root: Path) -> None:
    sources = [path.relative_to(root) for path in root.rglob("*.[chi]pp")]
    found = {source: [cpp_part_of(one) for one in included(root, source)] for source in sources}
    upward = [
        (str(source), there)
        for source, all_there in found.items()
        for there in all_there
        if there != cpp_part_of(source) and there[0] <= cpp_part_of(source)[0]
    ]
    assert sources
    assert upward == []


def test_cpp_tasks_know_no_learner_and_no_engine() -> None:
    sources = [path.relative_to(ROOT / "cpp") for path in (ROOT / "cpp" / "tasks").rglob("*.[ch]pp")]
    parts = {cpp_part_of(one)[1] for source in sources for one in included(ROOT / "cpp", source)}
    assert parts >= {"core", "tasks/parse"}
    assert not parts & {"learners", "engines"}
