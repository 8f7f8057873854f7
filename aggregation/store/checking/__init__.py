"""What data must be to be stored; what is wrong is refused with its reason and takes no neighbour down."""

from aggregation.store.checking.reasons import (
    BAD_DATE,
    BAD_OFFSET,
    BAD_SOURCE,
    BAD_VALUE,
    END_BEFORE_START,
    INCONSISTENT_FIELDS,
    MISSING_FIELD,
    OUT_OF_RANGE,
    OUTSIDE_INGESTION_BOUNDS,
    SUMMARIES_BATCH,
    UNKNOWN_FIELD,
    UNKNOWN_PARENT,
    UNKNOWN_RESOURCE,
    Ingestion,
    Refusals,
    source_good,
    text_good,
)
from aggregation.store.checking.samples import sample_reasons, samples_good
from aggregation.store.checking.summaries import CheckedSummary, summary_checked, summary_reason

__all__ = [
    "BAD_DATE",
    "BAD_OFFSET",
    "BAD_SOURCE",
    "BAD_VALUE",
    "END_BEFORE_START",
    "INCONSISTENT_FIELDS",
    "MISSING_FIELD",
    "OUTSIDE_INGESTION_BOUNDS",
    "OUT_OF_RANGE",
    "SUMMARIES_BATCH",
    "UNKNOWN_FIELD",
    "UNKNOWN_PARENT",
    "UNKNOWN_RESOURCE",
    "CheckedSummary",
    "Ingestion",
    "Refusals",
    "sample_reasons",
    "samples_good",
    "source_good",
    "summary_checked",
    "summary_reason",
    "text_good",
]
