"""When a delivery is tried again."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from healthsvc.kernel.http import OutboundFailure
from healthsvc.kernel.principal import Environment, TeamContext
from webhooks.excerpts import answer_excerpt
from webhooks.records import Claim, Outcome
from webhooks.retries import acknowledgement_of, retry_after_read
from webhooks.states import DeliveryCommand

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
SOME = UUID(int=1)


def _outcome(failures: int = 0, status: int | None = None, retry_after: int | None = None) -> Outcome:
    claim = Claim(SOME, failures + 1, failures, SOME, SOME, "webhook.test", TeamContext(SOME, Environment.SANDBOX))
    error = OutboundFailure.TIMEOUT if status is None else None
    return Outcome(claim, NOW, 10, status, error, retry_after)


def test_the_waits_between_eight_attempts() -> None:
    waits: list[float] = []
    for failures in range(8):
        item = acknowledgement_of(_outcome(failures), NOW, 0.5)
        if item.next_attempt_at is None:
            assert (item.command, item.failures) == (DeliveryCommand.EXHAUST, 8)
            break
        waits.append((item.next_attempt_at - NOW).total_seconds())
    assert waits == [5, 300, 1800, 7200, 18000, 36000, 36000]


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 240), (0.5, 300), (1.0, 360)])
def test_the_jitter_is_a_fifth(chance: float, seconds: int) -> None:
    item = acknowledgement_of(_outcome(1), NOW, chance)
    assert item.next_attempt_at == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "command"),
    [
        (200, DeliveryCommand.SUCCEED),
        (204, DeliveryCommand.SUCCEED),
        (299, DeliveryCommand.SUCCEED),
        (301, DeliveryCommand.RETRY),
        (304, DeliveryCommand.RETRY),
        (400, DeliveryCommand.RETRY),
        (404, DeliveryCommand.RETRY),
        (410, DeliveryCommand.CANCEL),
        (429, DeliveryCommand.RETRY),
        (500, DeliveryCommand.RETRY),
        (None, DeliveryCommand.RETRY),
    ],
)
def test_what_an_answer_means(status: int | None, command: DeliveryCommand) -> None:
    assert acknowledgement_of(_outcome(0, status), NOW, 0.5).command is command


def test_retry_after_makes_a_wait_longer_and_never_shorter() -> None:
    waits = [acknowledgement_of(_outcome(1, 429, asked), NOW, 0.5).next_attempt_at for asked in (10, 3600)]
    assert waits == [NOW + timedelta(seconds=300), NOW + timedelta(seconds=3600)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("999999999999", 86_400),
        ("Sat, 21 Nov 2026 08:01:00 GMT", 60),
        ("Sat, 21 Nov 2026 07:00:00 GMT", 0),
        ("Sat, 21 Nov 2099 08:01:00 GMT", 86_400),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("²", None),
    ],
)
def test_retry_after_in_both_its_forms(text: str, seconds: int | None) -> None:
    assert retry_after_read(text, NOW) == seconds


def test_an_excerpt_is_short_and_scrubbed() -> None:
    body = (
        b"No ada@example.com, hr 118 on 2026-11-21\x00\x1b[31m, whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\xff"
        + b"x y " * 400
    )
    found = answer_excerpt(body)
    assert found is not None
    assert found.startswith("No [address], hr [number] on [number] [[number]m, [token]")
    assert len(found) == 250
    assert answer_excerpt(b"  \x00") is None


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 01 Jan 2026 00:00:00 +9999999999999999",
        "Mon, 01 Jan 0001 00:00:00 +2300",
        "Fri, 31 Dec 9999 23:59:59 -2300",
    ],
)
def test_a_date_beyond_every_calendar_is_no_retry_after(text: str) -> None:
    assert retry_after_read(text, NOW) in (None, 0, 86_400)
