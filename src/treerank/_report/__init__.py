"""The HTML report: modules that collect plain data, templates, one script and one stylesheet."""

from treerank._report._page import report

__all__ = ["report"]
