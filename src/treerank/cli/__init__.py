"""The command line, with one module per command."""

from treerank.cli.app import app, main

__all__ = ["app", "main"]
