"""The papers' tables repeated: our figures beside the printed ones.

`models` has the methods, `studies` the experiments, `printed` the papers' values, `ranks` the
average ranks and their critical difference, `run` puts all of it on a page.
"""

from benchmarks.papers.run import run

__all__ = ["run"]
