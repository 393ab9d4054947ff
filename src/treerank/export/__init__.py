"""Export models, to score rows without Python.

A model is written as SQL, as an ONNX graph, as text, or as the dict that `shap.TreeExplainer`
accepts. Missing values and unknown levels are handled as in the model itself.
"""

from treerank.export._onnx import to_onnx
from treerank.export._shap import to_dict, to_matrix
from treerank.export._sql import to_sql
from treerank.export._text import to_text

__all__ = ["to_dict", "to_matrix", "to_onnx", "to_sql", "to_text"]
