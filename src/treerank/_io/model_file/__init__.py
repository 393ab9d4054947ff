"""Model files: fitted estimators as JSON, or as a zip of JSON and raw arrays, without code."""

from treerank._io.model_file._errors import ModelFileError
from treerank._io.model_file._files import load, save

__all__ = ["ModelFileError", "load", "save"]
