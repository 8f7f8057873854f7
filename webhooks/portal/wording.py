"""Numbers, times and answers in the words of the portal's pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from healthsvc.kernel.http import OutboundFailure
from webhooks.constants import RECOVER_JOB, REPLAY_JOB, TIMEOUT_SECONDS
from webhooks.states import DeliveryStatus

_SHORT_STEPS: Final = ((1_000_000_000, "bn"), (1_000_000, "m"), (1_000, "k"))


@dataclass(frozen=True, slots=True)
class Advice:
    """What became of an attempt, and what its receiver can do about it; `advice` is empty where nothing is to do."""

    title: str
    advice: str = ""


_NO_ANSWER: Final[Mapping[str, Advice]] = MappingProxyType(
    {
        OutboundFailure.TIMEOUT: Advice(
            f"No answer within {TIMEOUT_SECONDS:g} seconds",
            "Answer with a 2xx first and do the work afterwards: keep the message in a queue of your own.",
        ),
        OutboundFailure.REFUSED_ADDRESS: Advice(
            "The address was refused",
            "The host's name leads to a private or reserved network, which is never called. Use a host that can be "
            "reached from the public internet.",
        ),
        OutboundFailure.CONNECTION: Advice(
            "No connection could be made",
            "Check that the host's name resolves, that its port is open to the internet, and that its certificate is "
            "valid, complete and for this name.",
        ),
        OutboundFailure.TOO_LARGE: Advice(
            "The answer was too large", "Only the status is read; answer with an empty body."
        ),
        OutboundFailure.INVALID_URL: Advice(
            "The address can't be called", "Give the endpoint an address that begins with https:// and names a host."
        ),
        OutboundFailure.TLS: Advice(
            "No secure connection could be made",
            "Check that the certificate is valid today, is for this name, and is sent with all between it and a "
            "public authority.",
        ),
    }
)
_ANSWERS: Final[Mapping[int, Advice]] = MappingProxyType(
    {
        401: Advice(
            "The receiver asked for credentials",
            "If it checks a header, set it among the endpoint's headers. A message is better proved by its signature.",
        ),
        403: Advice(
            "The receiver refused the request",
            "Look for a firewall or bot protection in front of it, and check that the signature is verified with this "
            "endpoint's secret and the raw body.",
        ),
        404: Advice("Nothing was found there", "Check the path of the endpoint's address."),
        405: Advice("The receiver takes no POST there", "Messages come as POST; let the path take it."),
        410: Advice(
            "The receiver said that it is gone",
            "A 410 disables the endpoint. Enable it again once the receiver is back.",
        ),
        413: Advice("The message was too large for the receiver", "Let it take bodies of up to 1 MB."),
        429: Advice(
            "The receiver asked for fewer messages",
            "Set a rate limit for the endpoint. A Retry-After in the answer is honoured.",
        ),
        503: Advice("The receiver was not available", "A Retry-After in the answer is honoured, up to a day."),
    }
)
_REDIRECT: Final = Advice(
    "The receiver sent a redirect",
    "Redirects are not followed. Set the endpoint's address to where it leads, its last slash and https included.",
)
_REFUSED: Final = Advice("The receiver refused the message", "Its answer and its own log say why.")
_BROKEN: Final = Advice(
    "The receiver failed", "Its own log says why. The message is tried again until its attempts are used up."
)
_ODD: Final = Advice("The answer was not understood", "Answer with a status of 2xx.")

#: How each kind of repair reads.
REPAIR_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {RECOVER_JOB: "Recovering what failed", REPLAY_JOB: "Replaying what was never sent"}
)
#: How each status reads.
STATUS_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        DeliveryStatus.PENDING: "Waiting",
        DeliveryStatus.SENDING: "Being sent",
        DeliveryStatus.DELIVERED: "Delivered",
        DeliveryStatus.FAILED: "Failed",
        DeliveryStatus.CANCELLED: "Cancelled",
    }
)
#: The class of each status's colour; none for the others.
STATUS_TONES: Final[Mapping[str, str]] = MappingProxyType(
    {
        DeliveryStatus.PENDING: "warn",
        DeliveryStatus.SENDING: "warn",
        DeliveryStatus.DELIVERED: "good",
        DeliveryStatus.FAILED: "bad",
    }
)


def attempt_advice(status_code: int | None, error: str) -> Advice:
    """What an attempt came to, in words that say what to do."""
    if status_code is None:
        return _NO_ANSWER.get(error, _NO_ANSWER[OutboundFailure.CONNECTION])
    if 200 <= status_code < 300:
        return Advice("Delivered")
    if status_code in _ANSWERS:
        return _ANSWERS[status_code]
    by_hundred = {3: _REDIRECT, 4: _REFUSED, 5: _BROKEN}
    return by_hundred.get(status_code // 100, _ODD)


def count_text(count: int) -> str:
    """With separators: 1,204."""
    return f"{count:,}"


def count_short(count: int) -> str:
    """For an axis: 500, 20k, 5m."""
    for size, letters in _SHORT_STEPS:
        if count >= size and count % (size // 10) == 0:
            return f"{count / size:g}{letters}"
    return str(count)


def duration_text(milliseconds: float) -> str:
    """218 ms, 1.2 s, 15 s."""
    if round(milliseconds) < 1000:
        return f"{milliseconds:.3g} ms"
    return f"{milliseconds / 1000:.3g} s"


def span_text(begin: datetime, span: timedelta) -> str:
    """21 Nov 14:00 to 15:00 UTC; 21 Nov 2026 for a day."""
    begin = begin.astimezone(UTC)
    if span >= timedelta(days=1):
        return begin.strftime("%-d %b %Y")
    return f"{begin.strftime('%-d %b %H:%M')} to {(begin + span).strftime('%H:%M')} UTC"
