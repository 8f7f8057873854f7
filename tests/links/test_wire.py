"""What a provider's answer asks of us before we come again."""

from datetime import UTC, datetime

import pytest
import time_machine

from healthsvc.kernel.http import HttpReply
from links.connectors.failures import FailureKind, ProviderFailure
from links.connectors.wire import document_of

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("named", "wait_seconds"),
    [
        ({}, 60),
        ({"Retry-After": "40"}, 40),
        ({"Retry-After": "0"}, 1),
        ({"Retry-After": "9999999999"}, 86_400),
        ({"Retry-After": "Sun, 15 Nov 2026 12:02:30 GMT"}, 150),
        ({"Retry-After": "Sun, 15 Nov 2026 11:00:00 GMT"}, 1),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 -1400"}, 86_400),
        ({"Retry-After": "Mon, 01 Jan 99999999999999 00:00:00 GMT"}, 60),
        ({"Retry-After": "soon"}, 60),
    ],
)
def test_a_rate_limit_waits_as_long_as_it_says(named: dict[str, str], wait_seconds: int) -> None:
    with time_machine.travel(NOW, tick=False), pytest.raises(ProviderFailure) as caught:
        document_of(HttpReply(429, named, b""))
    assert (caught.value.kind, caught.value.retry_after_seconds) == (FailureKind.RATE_LIMITED, wait_seconds)
