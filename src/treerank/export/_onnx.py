"""A model as an ONNX graph: the operator TreeEnsemble, or walks by basic operators.

TreeEnsemble stores one number at each leaf. A forest of merged cells sums steps along each path,
and has too many paths to write them out: see `_onnx_walk`. Thresholds are doubles, and steps of a
forest are single precision and added in the same order, so scores are bitwise equal.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._boosting import BoostedTreeRank
from treerank._input.label_order import by_class, class_order, label_order_of
from treerank._input.types import FittedClassifier
from treerank.export._onnx_ensemble import ML_OPSET as ENSEMBLE_OPSET
from treerank.export._onnx_ensemble import (
    Expanded,
    ensemble_attributes,
    expand,
    parts_of,
    set_tables,
)
from treerank.export._onnx_graph import Graph
from treerank.export._onnx_walk import sum_of_walks
from treerank.export._walks import END, Walks, level_kind, members_of, walks_of


def to_onnx(model: FittedClassifier) -> Any:
    """Make an ONNX graph that scores rows.

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted, with LeafRank as the splitter. A forest must have ``aggregation="posterior"`` or
        ``"mean_rank"``.

    Returns
    -------
    onnx.ModelProto
        Without categories, the input is `X`, doubles of shape (rows, features), with NaN for
        missing values. With categories, each column has an input of shape (rows, 1) with its
        name: doubles for numbers, booleans and numeric levels, strings for text levels, where an
        unknown string is a missing value. The outputs are `score`; `probability`, with one column
        per class as in `predict_proba`, except for a forest with ``aggregation="mean_rank"``; and
        for a tree, `stratum`.

    Notes
    -----
    Trees, boosted trees and forests whose cells are not merged
    (``RankingForest(LeafRank(max_depth=None))``; by default, all from 50,000 rows on) use the
    operator TreeEnsemble of ai.onnx.ml 5. Forests of merged cells do not fit into it and are walked
    by basic operators. In either case, onnxruntime takes at most about three times as long as
    `score_samples`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.export import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> graph = to_onnx(TreeRank().fit(X, y))  # doctest: +SKIP
    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())  # doctest: +SKIP
    >>> [score] = session.run(["score"], {"X": X})  # doctest: +SKIP
    """
    walks = walks_of(model).with_distinct_sets()
    try:
        import onnx  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "to_onnx needs the package onnx; install 'treerank-ml[onnx]'."
        ) from None
    graph = Graph(onnx)
    values = _inputs(graph, walks)
    if isinstance(model, TreeRanker):
        _add_strata(graph, model, walks, values)
        return graph.model(f"{type(model).__name__} of treerank")
    score = _mean(graph, walks, values, walks.step, walks.offset)
    graph.output("score", score, onnx.TensorProto.DOUBLE)
    above = _shares_above(graph, model, walks, values, score)
    if above:
        shares = _class_shares(graph, above, class_order(label_order_of(model)))
        shape = ("rows", len(model.classes_))
        graph.output("probability", shares, onnx.TensorProto.DOUBLE, shape)
    return graph.model(f"{type(model).__name__} of treerank")


def _add_strata(graph: Graph, model: TreeRanker, walks: Walks, values: str) -> None:
    """Add the outputs of a tree, which all follow from the stratum."""
    types = graph.onnx.TensorProto
    assert walks.target is not None
    expanded = expand(walks, walks.step)
    if expanded is None:
        numbers = np.where(walks.kind == END, walks.target, 0).astype(np.float64)
        found = sum_of_walks(graph, walks, values, numbers)
        stratum = graph.add("Cast", found, to=types.INT64)
    else:
        weights = walks.target[expanded.slot].astype(np.float64)
        found = _ensemble(graph, walks, expanded, weights, _with_sets(graph, walks, values))
        stratum = graph.add("Cast", found, to=types.INT64)
    scores = np.asarray(model.partition_.scores, dtype=np.float64)
    shape = ("rows", len(model.classes_))
    shares = by_class(model._posterior, model.label_order_)
    graph.output("score", graph.add("Gather", graph.constant(scores), stratum), types.DOUBLE)
    probability = graph.add("Gather", graph.constant(shares), stratum)
    graph.output("probability", probability, types.DOUBLE, shape)
    graph.output("stratum", stratum, types.INT64)


def _inputs(graph: Graph, walks: Walks) -> str:
    """Add the inputs; return the matrix of numbers and codes of categories."""
    types = graph.onnx.TensorProto
    levels = walks.binning.levels
    if all(known is None for known in levels):
        return graph.input("X", types.DOUBLE, ["rows", len(levels)])
    columns = []
    for name, known in zip(walks.names, levels, strict=True):
        if name in ("", "score", "stratum", "probability") or name.startswith("treerank/"):
            raise ValueError(
                f"Got a column named {name!r}, a name that the graph needs; fit to another."
            )
        kind = "number" if known is None else level_kind(known, name)
        source = graph.input(name, types.STRING if kind == "text" else types.DOUBLE, ["rows", 1])
        if known is None:
            columns.append(source)
        elif kind == "text":
            columns.append(_code_of_text(graph, source, known))
        else:
            columns.append(_code_of_number(graph, source, known))
    return str(graph.add("Concat", *columns, axis=1))


def _pairs(levels: list[Any]) -> tuple[list[Any], list[int]]:
    members = [(m, code) for code, level in enumerate(levels, start=1) for m in members_of(level)]
    return [m for m, _ in members], [code for _, code in members]


def _code_of_text(graph: Graph, source: str, levels: list[Any]) -> str:
    known, codes = _pairs(levels)
    code = graph.add(
        "LabelEncoder", source, domain="ai.onnx.ml", default_int64=0,
        keys_strings=known or [""], values_int64s=codes or [0],
    )  # fmt: skip
    return str(graph.add("Cast", code, to=graph.onnx.TensorProto.DOUBLE))


def _code_of_number(graph: Graph, source: str, levels: list[Any]) -> str:
    known, codes = _pairs(levels)
    equal = graph.add("Equal", source, graph.constant(np.array([known or [0]], dtype=np.float64)))
    codes_of = graph.constant(np.array([codes or [0]], dtype=np.float64))
    each = graph.add("Where", equal, codes_of, graph.constant(np.zeros((1, 1))))
    return str(graph.add("ReduceSum", each, graph.constant(np.array([1])), keepdims=1))


def _sum_of_ensembles(graph: Graph, walks: Walks, expanded: Expanded, values: str) -> str:
    """Sum over the trees, with a few of them in each operator.

    A runtime passes each row through all trees of an operator before the next row, so the trees of
    one operator should fit into the CPU cache.
    """
    matrix = _with_sets(graph, walks, values)
    total = ""
    for part in parts_of(expanded):
        found = _ensemble(graph, walks, part, part.totals.astype(np.float64), matrix)
        total = graph.add("Add", total, found) if total else found
    return total


def _ensemble(
    graph: Graph, walks: Walks, expanded: Expanded, weights: NDArray[np.float64], matrix: str
) -> str:
    """Sum the numbers at the leaves over the trees, by the operator TreeEnsemble."""
    attributes = ensemble_attributes(graph.onnx, walks, expanded, weights)
    graph.ml_opset = ENSEMBLE_OPSET
    found = graph.add("TreeEnsemble", matrix, domain="ai.onnx.ml", **attributes)
    return str(graph.add("Squeeze", found, graph.constant(np.array([1]))))


def _with_sets(graph: Graph, walks: Walks, values: str) -> str:
    """Append a column for each category set to the features: 0 if the code is in the set."""
    columns = [values]
    for j, table in set_tables(walks).items():
        code = graph.add("Gather", values, graph.constant(np.array(j)), axis=1)
        code = graph.add("Cast", code, to=graph.onnx.TensorProto.INT64)
        columns.append(graph.add("Gather", graph.constant(table), code))
    return str(graph.add("Concat", *columns, axis=1)) if len(columns) > 1 else values


def _mean(graph: Graph, walks: Walks, values: str, steps: NDArray[Any], offset: float) -> str:
    """Mean or sum over the trees, in their order, minus the offset."""
    expanded = expand(walks, steps)
    if expanded is not None:
        last = _sum_of_ensembles(graph, walks, expanded, values)
    else:
        last = sum_of_walks(graph, walks, values, steps)
    mean = graph.add("Div", last, graph.constant(np.array(walks.divisor)))
    return str(graph.add("Sub", mean, graph.constant(np.array(offset))))


def _shares_above(graph: Graph, model: Any, walks: Walks, values: str, score: str) -> list[str]:
    """Probability of a class above each class but the last; none for a consensus of ranks."""
    if isinstance(model, BoostedTreeRank):
        above = []
        for slope, intercept in zip(model._slopes, model._intercepts, strict=True):
            line = graph.add("Mul", score, graph.constant(np.array(float(slope))))
            line = graph.add("Add", line, graph.constant(np.array(float(intercept))))
            above.append(str(graph.add("Sigmoid", line)))
        return above
    if model._ranks is not None:
        return []
    if len(model.label_order_) == 2:
        return [str(graph.add("Add", score, graph.constant(np.array(0.5))))]
    return [_mean(graph, walks, values, layer, 0.0) for layer in walks.layers]


def _class_shares(graph: Graph, above: list[str], order: NDArray[np.intp]) -> str:
    """Probability of each class, with the shares above classes made non-increasing first.

    `order` has the places of the columns among the classes, worst first.
    """
    zero, one = graph.constant(np.array(0.0)), graph.constant(np.array(1.0))
    edges: list[str] = []
    for share in above:
        clipped = graph.add("Min", graph.add("Max", share, zero), one)
        edges.append(graph.add("Min", edges[-1], clipped) if edges else clipped)
    shares = [graph.add("Sub", one, edges[0])]
    shares += [graph.add("Sub", low, high) for low, high in pairwise(edges)]
    axis = graph.constant(np.array([1]))
    shares.append(edges[-1])
    columns = [graph.add("Unsqueeze", shares[k], axis) for k in order]
    return str(graph.add("Concat", *columns, axis=1))
