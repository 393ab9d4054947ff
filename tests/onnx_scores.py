"""Scores of an exported model in onnxruntime."""

import numpy as np
import pytest

from treerank.export import to_onnx


def run_onnx(model, rows, names=("score",)):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    if isinstance(rows, np.ndarray):
        return session.run(list(names), {"X": rows})
    given = {}
    for wanted in session.get_inputs():
        column = rows[wanted.name]
        if wanted.type == "tensor(string)":
            text = column.astype(object).where(column.notna(), "").to_numpy()
            given[wanted.name] = text.astype(object)[:, np.newaxis]
        else:
            given[wanted.name] = column.to_numpy(dtype=np.float64, na_value=np.nan)[:, np.newaxis]
    return session.run(list(names), given)
