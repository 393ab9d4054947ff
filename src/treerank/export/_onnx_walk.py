"""Walks through trees by basic operators, for trees that TreeEnsemble cannot represent.

A forest of merged cells sums steps along each path, and has too many paths to write them out. Its
graph does what the core does: look up the test, compare, and move on, for all rows in several trees
at once. Values are first replaced by codes, the numbers of thresholds below them, which are exact
in single precision. Steps are added in the order of the core, so scores are bitwise equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank.export._onnx_ensemble import ML_OPSET, Nodes, operator_attributes
from treerank.export._onnx_graph import Graph
from treerank.export._walks import END, IN_SET, MISSING_GOES_LEFT, Walks

# Number of walks at once: few enough for their arrays to stay in the CPU cache, and enough to
# amortize the calls of operators.
TOGETHER = 40_000
# Larger than all codes: no feature has this many thresholds.
LARGE = np.float32(2**24)


def sum_of_walks(graph: Graph, walks: Walks, values: str, steps: NDArray[Any]) -> str:
    """Sum the steps along the path of each row, over the trees in their order."""
    types = graph.onnx.TensorProto
    coded = _code_values(graph, walks, values)
    tables = {name: graph.constant(t) for name, t in _slot_tables(walks, coded, steps).items()}
    zero, one = graph.constant(np.array(0)), graph.constant(np.array(1))
    n_rows = graph.add("Gather", graph.add("Shape", values), zero)
    as_axis = graph.add("Unsqueeze", n_rows, graph.constant(np.array([0])))
    places = graph.add("Cast", graph.add("Range", zero, n_rows, one), to=types.INT32)
    first = graph.add("Mul", places, graph.constant(np.array(coded.width, dtype=np.int32)))
    n_trees = graph.constant(np.array(walks.n_trees))
    wanted = graph.add("Div", graph.constant(np.array(TOGETHER)), graph.add("Max", n_rows, one))
    size = graph.add("Max", wanted, one)
    up = graph.add("Sub", graph.add("Add", n_trees, size), one)
    shape = graph.add("Concat", graph.constant(np.array([1])), as_axis, axis=0)
    start = graph.add("Expand", graph.constant(np.zeros((1, 1))), shape)
    rows = _Rows(coded.values, first, as_axis)
    body = _some_trees(graph, walks, tables, rows, size, steps.dtype)
    total = graph.add(
        "Loop", graph.add("Div", up, size), graph.constant(np.array(True)), start,
        body=body.graph("some trees"),
    )  # fmt: skip
    return str(graph.add("Squeeze", total, graph.constant(np.array([0]))))


@dataclass(frozen=True)
class _Rows:
    """Names of tensors: the codes, the index of each row's first code, and the row count."""

    codes: str
    first: str
    n_rows: str


def _some_trees(
    graph: Graph, walks: Walks, tables: dict[str, str], rows: _Rows, size: str, dtype: Any
) -> Graph:
    """Walk all rows through the next `size` trees, and add their sums to the total."""
    types = graph.onnx.TensorProto
    body = Graph(graph.onnx, f"{graph.prefix}{len(graph.nodes)}/")
    number = body.input(f"{body.prefix}number", types.INT64, [])
    go_on = body.input(f"{body.prefix}go_on", types.BOOL, [])
    total = body.input(f"{body.prefix}total", types.DOUBLE, [1, "rows"])
    first = body.constant(np.array([0]))
    every = body.constant(np.array([-1]))
    begin = body.add("Mul", number, size)
    ends = (body.add("Unsqueeze", at, first) for at in (begin, body.add("Add", begin, size)))
    roots = body.add("Slice", tables["root"], *ends)
    shape = body.add("Concat", body.add("Shape", roots), rows.n_rows, axis=0)
    column = body.add("Unsqueeze", roots, body.constant(np.array([1])))
    at = body.add("Reshape", body.add("Expand", column, shape), every)
    of_row = body.add("Reshape", body.add("Expand", rows.first, shape), every)
    summed = _walk(body, walks, tables, rows.codes, at, of_row, dtype)
    found = body.add("Cast", body.add("Reshape", summed, shape, allowzero=1), to=types.DOUBLE)
    sums = body.add("CumSum", body.add("Concat", total, found, axis=0), body.constant(np.array(0)))
    last = body.add("Slice", sums, every, body.constant(np.array([2**62])), first)
    body.output(f"{body.prefix}next_go_on", go_on, types.BOOL, [])
    body.output(f"{body.prefix}next_total", last, types.DOUBLE, [1, "rows"])
    return body


def _walk(
    graph: Graph, walks: Walks, tables: dict[str, str], codes: str, at: str, of_row: str, dtype: Any
) -> str:
    """Sums along walks from the slots `at`. Ended walks are dropped from time to time."""
    start = graph.constant(np.zeros(1, dtype=dtype))
    total = result = graph.add("Expand", start, graph.add("Shape", at))
    zero, one = graph.constant(np.array(0)), graph.constant(np.array(1))
    place = graph.add("Range", zero, graph.add("Squeeze", graph.add("Shape", at)), one)
    past = graph.constant(np.array(len(walks.kind), dtype=np.int32))
    edges = _rests(walks.depth + 1)
    for begin, end in pairwise(edges):
        body = _step(graph, walks, tables, codes, of_row, dtype)
        n_steps, go_on = graph.constant(np.array(end - begin)), graph.constant(np.array(True))
        at, total = graph.add(
            "Loop", n_steps, go_on, at, total, n_outputs=2, body=body.graph("one step")
        )
        result = graph.add("ScatterElements", result, place, total) if begin else total
        if end < edges[-1]:
            alive = graph.add("NonZero", graph.add("Less", at, past))
            alive = graph.add("Squeeze", alive, graph.constant(np.array([0])))
            at, total, of_row, place = (
                graph.add("GatherElements", values, alive, axis=0)
                for values in (at, total, of_row, place)
            )
    return str(result)


def _rests(n_steps: int) -> list[int]:
    """Steps after which ended walks are dropped. Few end within a third of the longest walk."""
    step = max(n_steps // 8, 1)
    return [0, *range(max(n_steps // 3, 1), n_steps, step), n_steps]


def _step(
    graph: Graph, walks: Walks, tables: dict[str, str], codes: str, of_row: str, dtype: Any
) -> Graph:
    """One step of all walks."""
    types = graph.onnx.TensorProto
    body = Graph(graph.onnx, f"{graph.prefix}{len(graph.nodes)}/")
    body.input(f"{body.prefix}number", types.INT64, [])
    go_on = body.input(f"{body.prefix}go_on", types.BOOL, [])
    element = types.FLOAT if dtype == np.float32 else types.DOUBLE
    at = body.input(f"{body.prefix}at", types.INT32, ["walks"])
    summed = body.input(f"{body.prefix}total", element, ["walks"])

    def look_up(table: str, places: str) -> str:
        # Much faster in onnxruntime than Gather, which copies each number as a block of bytes.
        return str(body.add("GatherElements", table, places, axis=0))

    code = look_up(codes, body.add("Add", look_up(tables["column"], at), of_row))
    right = body.add("Greater", code, look_up(tables["threshold"], at))
    if "in_set" in tables:
        in_set = look_up(tables["in_set"], at)
        number = body.add("Where", in_set, code, body.constant(np.zeros(1, dtype=np.float32)))
        number = body.add("Cast", number, to=types.INT32)
        member = body.add("Add", look_up(tables["first_member"], at), number)
        outside = look_up(tables["outside"], member)
        right = body.add("Or", right, body.add("And", in_set, outside))
    turn = body.add("Cast", right, to=types.INT32)
    arrived = body.add("Add", look_up(tables["follows"], at), turn)
    body.output(f"{body.prefix}next_go_on", go_on, types.BOOL, [])
    body.output(f"{body.prefix}next_at", arrived, types.INT32, ["walks"])
    added = body.add("Add", summed, look_up(tables["step"], at))
    body.output(f"{body.prefix}next_total", added, element, ["walks"])
    return body


@dataclass(frozen=True)
class _Coded:
    """Row-major codes, and what each slot compares with them."""

    values: str
    width: int  # codes per row
    column: NDArray[np.int64]  # of each slot
    threshold: NDArray[np.float32]


def _code_values(graph: Graph, walks: Walks, values: str) -> _Coded:
    """Replace values by the number of the model's thresholds that are below them.

    Each feature has two columns, in which missing values are below all others, or above them. If
    there are category sets, a third column has the codes of categories.
    """
    types = graph.onnx.TensorProto
    asks = (walks.kind != END) & (walks.kind != IN_SET)
    # A test that separates known values from missing ones has an infinite threshold.
    bounded = np.minimum(walks.threshold, np.finfo(np.float64).max)
    threshold = np.full(len(walks.kind), np.inf, dtype=np.float32)  # all codes go left
    known = []
    for j in range(len(walks.names)):
        here = np.flatnonzero(asks & (walks.feature == j))
        cuts, code = np.unique(bounded[here], return_inverse=True)
        threshold[here] = code
        known.append(cuts)
    graph.ml_opset = ML_OPSET
    attributes = operator_attributes(graph.onnx, _search_trees(known), len(known))
    counts = graph.add("TreeEnsemble", values, domain="ai.onnx.ml", **attributes)
    counts = graph.add("Cast", counts, to=types.FLOAT)
    missing = graph.add("IsNaN", values)
    columns = [
        graph.add("Where", missing, graph.constant(np.array(code)), counts)
        for code in (np.float32(-1), LARGE)
    ]
    goes_right = asks & (walks.kind != MISSING_GOES_LEFT)
    column = walks.feature + np.where(goes_right, len(known), 0)
    column[walks.kind == END] = 0
    in_set = walks.kind == IN_SET
    if in_set.any():
        columns.append(graph.add("Cast", values, to=types.FLOAT))
        column[in_set] += 2 * len(known)
    joined = graph.add("Concat", *columns, axis=1)
    flat = graph.add("Reshape", joined, graph.constant(np.array([-1])))
    return _Coded(flat, len(columns) * len(known), column, threshold)


def _search_trees(known: list[NDArray[np.float64]]) -> Nodes:
    """Binary search trees, one per feature, whose leaves are the numbers of thresholds below."""
    sizes = np.array([len(cuts) for cuts in known], dtype=np.int64)
    start = np.cumsum(sizes) - sizes
    every = np.append(np.concatenate(known), 0.0)
    feature, low, high = np.arange(len(known)), np.zeros(len(known), dtype=np.int64), sizes
    parts, children, n_nodes = [], [], len(known)
    while len(feature):
        asks = low < high
        child = np.full(len(feature), -1, dtype=np.int64)
        child[asks] = n_nodes + 2 * np.arange(asks.sum())
        middle = (low + high) // 2
        parts.append((feature, low, start[feature] + middle))
        children.append(child)
        feature = np.repeat(feature[asks], 2)
        low = np.stack([low[asks], middle[asks] + 1], axis=1).ravel()
        high = np.stack([middle[asks], high[asks]], axis=1).ravel()
        n_nodes += len(feature)
    features, codes, places = (np.concatenate(part) for part in zip(*parts, strict=True))
    child = np.concatenate(children)
    return Nodes(
        child=child,
        roots=np.arange(len(known)),
        feature=features,
        split=every[np.where(child < 0, -1, places)],
        missing_left=np.zeros(len(child), dtype=bool),
        target=features,
        weight=codes.astype(np.float64),
    )


def _slot_tables(walks: Walks, coded: _Coded, steps: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Tables that walks look up by slot. Each end is followed by a slot that points to itself."""
    ends = np.flatnonzero(walks.kind == END)
    past = len(walks.kind) + np.arange(len(ends))
    follows = walks.follows.copy()
    follows[ends] = past

    def extended(values: NDArray[Any], beyond: Any, dtype: Any) -> NDArray[Any]:
        return np.append(values, np.full(len(ends), beyond)).astype(dtype)

    tables = {
        "root": walks.roots.astype(np.int32),
        "column": extended(coded.column, 0, np.int32),
        "threshold": extended(coded.threshold, np.inf, np.float32),
        "follows": np.append(follows, past).astype(np.int32),
        "step": extended(steps, 0, steps.dtype),
    }
    in_set = walks.kind == IN_SET
    if not in_set.any():
        return tables
    first = np.where(in_set, walks.set_of, 0) * walks.members.shape[1]
    return tables | {
        "in_set": extended(in_set, False, bool),
        "first_member": extended(first, 0, np.int32),
        "outside": ~walks.members.ravel(),
    }
