"""What is kept here of a person, for the archive of everything about them: samples, summaries, receipts of pushes."""

from typing import Final

from aggregation.exporting.samples import SAMPLES
from aggregation.exporting.summaries import SUMMARIES
from aggregation.models import Push
from healthsvc.kernel.exporting import own_rows, table_part
from users.registry import Exporter

__all__ = ["EXPORTER"]

EXPORTER: Final = Exporter(
    parts=(
        SAMPLES,
        *SUMMARIES,
        table_part(
            "aggregation.pushes",
            Push,
            own_rows(Push),
            left_out={"digest": "a checksum of what was sent, by which a repeat is known"},
            about="Health data that the customer sent of you: what was stored of each batch, and what was refused.",
        ),
    ),
    left_out={},
)
