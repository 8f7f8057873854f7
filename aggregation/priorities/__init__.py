"""Which provider a team trusts most, by kind of data: the team's own list, and its form for the query engine."""

from aggregation.constants import PRIORITY_MAXIMUM, PRIORITY_MINIMUM
from aggregation.priorities.selectors import query_priorities, source_priorities
from aggregation.priorities.services import PriorityChange, source_priorities_update

__all__ = [
    "PRIORITY_MAXIMUM",
    "PRIORITY_MINIMUM",
    "PriorityChange",
    "query_priorities",
    "source_priorities",
    "source_priorities_update",
]
