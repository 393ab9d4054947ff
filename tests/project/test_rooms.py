"""Which room may use which: data goes one way, from validation to reading."""

import ast
from pathlib import Path

import treerank

SOURCE = Path(treerank.__file__).parent
# A room may use those before it. What is not named here (plots, reports, exports, the command line,
# clusters) may use all of them, and none of them may use it.
ORDER = [
    "_core", "_device", "_input", "splitters", "metrics", "consensus", "_binning", "_trees",
    "_select", "_growth", "_reading", "_base", "_leafrank", "_io", "_plans", "_treerank", "_forest",
    "_boosting", "_geometric", "baselines", "scoring._steps",
    "scoring._optimal_cuts", "scoring._grades", "scoring._calibrator", "scoring._points",
    "scoring._point_steps", "scoring._model_scores", "scoring._held_out",
    "scoring._training_rows", "scoring._scorecard",
    "_io.model_file",
]  # fmt: skip
PLACE = {room: place for place, room in enumerate(ORDER)}


def room_of(module):
    """First parts of a module's name that are a room's."""
    parts = module.split(".")[1:]
    for n in (2, 1):
        if ".".join(parts[:n]) in PLACE:
            return ".".join(parts[:n])
    return parts[0] if parts else "treerank"


def imports_of(path):
    """Modules of this package that a file imports, but for those that only types need."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in typing_only:
            continue
        if node.module == "treerank":
            yield from (f"treerank.{name.name}" for name in node.names)
        elif (node.module or "").startswith("treerank."):
            yield node.module


def test_rooms_use_only_those_before_them_on_the_road():
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(["treerank", *path.relative_to(SOURCE).with_suffix("").parts])
        room = room_of(module)
        if room not in PLACE:
            continue
        wrong += [
            f"{module} imports {used}"
            for used in imports_of(path)
            if room_of(used) != room and PLACE.get(room_of(used), len(ORDER)) > PLACE[room]
        ]
    assert wrong == []


def test_rooms_exist():
    for room in ORDER[1:]:
        path = SOURCE / room.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), room
