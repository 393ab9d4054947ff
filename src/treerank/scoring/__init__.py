"""From a score to a decision: judge a model on new rows, watch it, compare it with another."""

from .evaluation import Evaluation, evaluate
from .monitoring import Monitoring, SequentialTest, monitor

__all__ = ["Evaluation", "Monitoring", "SequentialTest", "evaluate", "monitor"]
