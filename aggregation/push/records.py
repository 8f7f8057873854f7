"""Lists of records, each read as a typed object; one that is wrong is named and passed over."""

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from aggregation.constants import SOURCE_TEXT_MAXIMUM_CHARACTERS
from aggregation.push.envelope import fault_of
from aggregation.push.receipts import Place, RefusedList
from aggregation.store import checking
from healthsvc.kernel.errors import Problem, invalid

S = TypeVar("S")

#: What a typed reading finds, in the store's words.
_REASONS: Final = {
    "missing": checking.MISSING_FIELD,
    "unknown_field": checking.UNKNOWN_FIELD,
    "out_of_range": checking.OUT_OF_RANGE,
    "wrong_type": checking.BAD_VALUE,
}
_REASONS_OF_FIELDS: Final = {
    "timestamp": checking.BAD_DATE,
    "start": checking.BAD_DATE,
    "end": checking.BAD_DATE,
    "timezone_offset": checking.BAD_OFFSET,
}
_SPLIT: Final = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Read(Generic[S]):
    """The records that could be read, and the place of each in its list."""

    records: list[S]
    indexes: NDArray[np.int64]


def records_read(
    place: Place,
    raw: msgspec.Raw,
    decoder: "msgspec.json.Decoder[S]",
    lists: "msgspec.json.Decoder[list[S]]",
    refused: RefusedList,
) -> Read[S]:
    """The records of a list: at once where all are in order, else one by one."""
    try:
        records = lists.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _one_by_one(records_split(place, raw), place, decoder, refused)
    return Read(records, np.arange(len(records)))


def external_id_good(name: str) -> bool:
    """Whether a sender's name for a record can be looked for; "" stands for none."""
    return len(name) <= SOURCE_TEXT_MAXIMUM_CHARACTERS and checking.text_good(name)


def records_split(place: Place, raw: msgspec.Raw) -> list[msgspec.Raw]:
    """The records of a list as texts; 422 where it is no JSON."""
    try:
        return _SPLIT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        loc = ("body", place.part.value, place.resource)
        raise invalid([Problem(loc, "Not valid JSON.", "json_invalid")]) from None


def _one_by_one(
    texts: list[msgspec.Raw], place: Place, decoder: "msgspec.json.Decoder[S]", refused: RefusedList
) -> Read[S]:
    records: list[S] = []
    indexes: list[int] = []
    for index, text in enumerate(texts):
        try:
            records.append(decoder.decode(text))
        except msgspec.ValidationError as error:
            loc, kind = fault_of(error)
            reason = _REASONS[kind]
            if loc and kind in ("wrong_type", "out_of_range"):
                reason = _REASONS_OF_FIELDS.get(str(loc[0]), reason)
            refused.add(place, [index], reason, loc)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            refused.add(place, [index], checking.BAD_VALUE)
        else:
            indexes.append(index)
    return Read(records, np.array(indexes, np.int64))
