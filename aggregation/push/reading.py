"""The lists of a push, read: what could be made records of, each with its place, and what was refused on the way."""

from dataclasses import dataclass, field

from aggregation.catalogue import SeriesSpec, StreamSpec, SummarySpec
from aggregation.push.bounds import summaries_bound_check
from aggregation.push.envelope import Envelope
from aggregation.push.receipts import Part, Place, RefusedList
from aggregation.push.records import records_split
from aggregation.push.samples import Piece, samples_read
from aggregation.push.streams import ReadStream, streams_read
from aggregation.push.summaries import ReadSummary, Zones, summaries_read
from aggregation.store import checking


@dataclass(slots=True)
class ReadPush:
    """What of a body could be read, and what could not.

    slugs: under which name each list is kept, None for a resource that is not known.
    """

    slugs: dict[Place, str | None] = field(default_factory=dict)
    samples: list[Piece] = field(default_factory=list)
    summaries: list[ReadSummary] = field(default_factory=list)
    streams: list[ReadStream] = field(default_factory=list)
    refused: RefusedList = field(default_factory=RefusedList)


def push_read(envelope: Envelope, zones: Zones) -> ReadPush:
    """Every list of a push; 413 for too many summaries."""
    summaries = [one for one in envelope.lists if one.place.part is Part.SUMMARIES]
    summaries_bound_check(sum(len(records_split(one.place, one.records)) for one in summaries))
    read = ReadPush()
    for one in envelope.lists:
        spec = one.spec
        read.slugs[one.place] = spec.slug if spec else None
        match spec:
            case SeriesSpec():
                read.samples += samples_read(one, spec, envelope.source, envelope.time_zone, read.refused)
            case SummarySpec():
                read.summaries += summaries_read(one, spec, envelope.source, zones, read.refused)
            case StreamSpec():
                read.streams += streams_read(one, spec, envelope.source, read.refused)
            case None:
                unread = range(len(records_split(one.place, one.records)))
                read.refused.add(one.place, unread, checking.UNKNOWN_RESOURCE)
    return read
