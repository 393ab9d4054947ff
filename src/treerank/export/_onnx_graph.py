"""Builder of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET, LEAST_ML_OPSET, IR_VERSION = 17, 3, 8


class Graph:
    """Collects nodes, constants, inputs and outputs, and generates their names."""

    def __init__(self, onnx: Any, prefix: str = "treerank/") -> None:
        self.onnx, self.prefix = onnx, prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.ml_opset = LEAST_ML_OPSET

    def _name(self) -> str:
        return f"{self.prefix}{len(self.nodes) + len(self.constants)}"

    def add(self, operator: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or a list of names."""
        base = self._name()
        names = [f"{base}.{i}" for i in range(n_outputs)]
        node = self.onnx.helper.make_node(operator, list(inputs), names, **attributes)
        self.nodes.append(node)
        return names[0] if n_outputs == 1 else names

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant."""
        name = self._name()
        self.constants.append(
            self.onnx.numpy_helper.from_array(np.asarray(values, order="C"), name)
        )
        return name

    def input(self, name: str, element: int, shape: list[Any]) -> str:
        """Add an input."""
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, element, shape))
        return name

    def output(
        self, name: str, source: str, element: int, shape: Sequence[Any] = ("rows",)
    ) -> None:
        """Add an output with its own name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [source], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, element, list(shape)))

    def graph(self, name: str) -> Any:
        return self.onnx.helper.make_graph(
            self.nodes, name, self.inputs, self.outputs, self.constants
        )

    def model(self, name: str) -> Any:
        """Make and check the model."""
        opsets = [
            self.onnx.helper.make_opsetid("", OPSET),
            self.onnx.helper.make_opsetid("ai.onnx.ml", self.ml_opset),
        ]
        model = self.onnx.helper.make_model(
            self.graph(name), opset_imports=opsets, ir_version=IR_VERSION, producer_name="treerank"
        )
        self.onnx.checker.check_model(model)
        return model
