"""The report: plain data from small files, one template, one script, one stylesheet."""

from treerank._report._page import report

__all__ = ["report"]
