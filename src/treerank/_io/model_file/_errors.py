"""The exception of model files."""


class ModelFileError(ValueError):
    """Raised for model files that are damaged, of another format, or not safe to read.

    :func:`treerank.load` raises it before anything in the file is used.
    """
