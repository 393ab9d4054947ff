"""The papers' tables repeated: our figures beside the printed ones.

`models` has the methods, `studies` and `ordered` the experiments, `printed` the papers' values,
`ranks` the average ranks and their critical difference, `verdicts` what is reached; `tables` and
`page` put all of it on a page.
"""

from benchmarks.papers.page import run

__all__ = ["run"]
