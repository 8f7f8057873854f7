"""The pages on health data name every code that a writer, an import or a receipt can give."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from aggregation.apple_health.limits import ExportRefusalCode
from aggregation.apple_health.tally import LeftOutReason, RefusalReason
from aggregation.push import receipts
from aggregation.store.checking import reasons
from aggregation.store.streams import UNKNOWN_WORKOUT

DOCS = Path(__file__).parents[2] / "docs"


def words(module: object) -> list[str]:
    return [value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)]


@pytest.mark.parametrize(
    ("page", "codes"),
    [
        ("health-data.md", [*words(reasons), UNKNOWN_WORKOUT]),
        ("health-data.md", words(receipts)),
        ("health-data.md", [code.code for code in ExportRefusalCode]),
        ("health-data.md", ["read", "stored", "replaced", "unchanged", "refused", "left_out"]),
        ("apple-health.md", [code.code for code in ExportRefusalCode]),
        ("apple-health.md", LeftOutReason),
        ("apple-health.md", RefusalReason),
    ],
)
def test_a_page_names_every_code(page: str, codes: Iterable[str]) -> None:
    text = (DOCS / page).read_text()
    found = list(codes)
    assert found
    assert [code for code in found if f"`{code}`" not in text] == []
