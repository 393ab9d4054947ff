"""From a score to a decision: judge a model on new rows, watch it, compare it with another."""

from .evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
