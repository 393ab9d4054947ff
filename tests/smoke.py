"""Try an installed wheel: fit, score, save and load, and check its metadata.

    python tests/smoke.py

Needs only the wheel and its dependencies.
"""

import json
import re
import shutil
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

import treerank


def main() -> None:
    """Fit, score, save and load each kind of model; check the metadata."""
    X, y = make_classification(2000, random_state=0)
    X[::7, 3] = np.nan
    for model in (
        treerank.TreeRank(),
        treerank.RankingForest(n_estimators=20),
        treerank.BoostedTreeRank(n_estimators=20),
    ):
        scores = model.fit(X[:1000], y[:1000]).score_samples(X[1000:])
        assert model.score(X[1000:], y[1000:]) > 0.9, model
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            treerank.save(model, path)
            assert np.array_equal(treerank.load(path).score_samples(X[1000:]), scores), model
    check_metadata()
    compilers = [name for name in ("cc", "c++", "gcc", "g++", "clang++") if shutil.which(name)]
    print(f"treerank {treerank.__version__}, {treerank._core.instruction_set()}, Python "
          f"{sys.version.split()[0]}, compilers: {', '.join(compilers) or 'none'}")  # fmt: skip


def check_metadata() -> None:
    """Check the licences and the bill of materials of what is linked into the core."""
    found = distribution("treerank-ml")
    names = {path.name: path for path in found.files or []}
    assert {"LICENSE", "nanobind.txt", "robin-map.txt"} <= set(names), sorted(names)
    bill = json.loads(names["treerank.cdx.json"].read_text())
    assert bill["metadata"]["component"]["version"] == found.version, bill
    assert {part["name"] for part in bill["components"]} == {"nanobind", "robin-map"}, bill
    for part in bill["components"]:
        assert part["version"], part
        assert re.fullmatch(rf"pkg:[\w/-]+@v?{re.escape(part['version'])}", part["purl"]), part


if __name__ == "__main__":
    main()
