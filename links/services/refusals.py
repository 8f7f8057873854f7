"""Why a service of this app stops half-way, told to the code that called it."""

from links.constants import LinkErrorType


class LinkRefused(Exception):  # noqa: N818 - reads as what happened
    """A link did not come about."""

    def __init__(self, error_type: LinkErrorType) -> None:
        super().__init__(str(error_type))
        self.error_type = error_type


class TokensBusy(Exception):  # noqa: N818 - reads as what happened
    """Another worker is renewing this connection's tokens; come back in a moment."""


class LeaseLost(Exception):  # noqa: N818 - reads as what happened
    """Another worker has taken the pull over; this one writes nothing more."""


class ConnectionBroken(Exception):  # noqa: N818 - reads as what happened
    """The connection gives no data until the person connects again."""
