"""Write the model files of a version, with scores: ``python tests/write_model_fixtures.py 0.2.0``.

Existing files are kept: those of released versions must stay loadable.
"""

import json
import sys
from pathlib import Path

from saved_models import NAMES, fitted

import treerank

EVERY = 10  # distance between rows whose scores are recorded


def main(version):
    folder = Path(__file__).parent / "fixtures" / "model_files" / version
    folder.mkdir(parents=True, exist_ok=True)
    for name in [name for name in NAMES if not (folder / name).exists()]:
        model, rows = fitted(name)
        treerank.save(model, folder / name)
        recorded = {"every": EVERY, "scores": model.score_samples(rows)[::EVERY].tolist()}
        (folder / f"{name}.scores.json").write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
