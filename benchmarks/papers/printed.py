"""The values that the papers print, from ``printed.csv``; misprints are kept as they are."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Printed(NamedTuple):
    """A value and its standard error, NaN where none is given."""

    value: float
    error: float


@cache
def table(number: int, paper: str = "003") -> dict[tuple[str, str, str], Printed]:
    """Values of one table by (model, set, measure)."""
    with (Path(__file__).parent / "printed.csv").open(newline="") as file:
        return {
            (row["model"], row["set"], row["measure"]): Printed(
                float(row["value"]), float(row["error"] or "nan")
            )
            for row in csv.DictReader(file)
            if (row["paper"], int(row["table"])) == (paper, number)
        }


# Fig. 14 of "Adaptive partitioning schemes": mean and standard deviation over 50 bootstrap
# samples. Its credit set is not to be had.
FIGURE_14 = {
    "TreeRank": Printed(0.923, 0.048),
    "RankBoost": Printed(0.967, 0.012),
    "logistic regression": Printed(0.856, 0.185),
}
