"""The one error of model files."""


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, of another format, or not to be trusted.

    Raised by :func:`treerank.load` before anything in the file is used.
    """
