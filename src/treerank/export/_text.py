"""A ranking tree as text."""

from __future__ import annotations

from treerank._input.types import FittedClassifier
from treerank.export._walks import check_exportable
from treerank.scoring._scorecard import Scorecard, unwrap


def to_text(model: FittedClassifier) -> str:
    """Describe a ranking tree as text: its strata, best first, each with its rule.

    Parameters
    ----------
    model : TreeRank or LeafRank
        Fitted, with LeafRank as the splitter. If it is in a :class:`treerank.scoring.Scorecard`,
        the text starts with the grades.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import LeafRank, TreeRank
    >>> from treerank.export import to_text
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> print(to_text(TreeRank(LeafRank(), max_depth=1).fit(X, y)))
    2 strata, best first; classes 0 < 1.
    0: score 0.4263, 345 rows, 95.1% of class 1
       worst perimeter <= 105.95
    1: score -0.333, 224 rows, 12.9% of class 1
       worst perimeter > 105.95
    """
    model, card = unwrap(model)
    check_exportable(model)
    if not hasattr(model, "partition_"):
        raise TypeError(
            f"Got a {type(model).__name__}; expected a TreeRank or LeafRank: the rules of many "
            "trees together are no text that a person could read."
        )
    partition = model.partition_
    last = partition.classes[-1]
    order = " < ".join(str(label) for label in partition.classes)
    lines = [] if card is None or card.grades_ is None else _grade_lines(card)
    count = "1 stratum" if len(partition) == 1 else f"{len(partition)} strata, best first"
    lines += [f"{count}; classes {order}."]
    shares = partition.posterior()[:, -1]
    for k, rule in enumerate(partition.rules()):
        rows = partition.counts[k].sum()
        lines.append(
            f"{k}: score {partition.scores[k]:.4g}, {rows:g} rows, {shares[k]:.1%} of class {last}"
        )
        lines.append(f"   {rule}")
    return "\n".join(lines)


def _grade_lines(card: Scorecard) -> list[str]:
    """Lines for the grades, best first, each with its points, share of events and rule."""
    table = card.columns()
    last = card.label_order_[-1]
    shares = table["event_rate" if len(card.label_order_) == 2 else f"share_{last}"]
    lines = [f"{len(table['grade'])} grades, best first; rates of {card.held_out_}."]
    for k, (name, rule) in enumerate(zip(table["grade"], card.rules(), strict=True)):
        points = ""
        if "points_from" in table:
            points = f"{table['points_from'][k]} to {table['points_to'][k]} points, "
        said = f"{name}: {points}{table['rows'][k]:g} rows, {shares[k]:.1%} of class {last}"
        lines += [said, f"   {rule}"]
    return [*lines, ""]
