"""Export: scores that run where Python does not.

A model becomes SQL, an ONNX graph, plain words, or the dict that `shap.TreeExplainer` takes.
Missing values and levels that the model has not seen are treated as the model treats them.
"""

from treerank.export._onnx import to_onnx
from treerank.export._shap import to_dict, to_matrix
from treerank.export._sql import to_sql
from treerank.export._text import to_text

__all__ = ["to_dict", "to_matrix", "to_onnx", "to_sql", "to_text"]
