"""Why a service of this app stops half-way, told to the code that called it."""

from links.constants import LinkErrorType


class LinkRefused(Exception):  # noqa: N818 - reads as what happened
    """A link did not come about."""

    def __init__(self, error_type: LinkErrorType) -> None:
        super().__init__(str(error_type))
        self.error_type = error_type


class TokensBusy(Exception):  # noqa: N818 - reads as what happened
    """Another worker is renewing this connection's tokens; come back in a moment.

    `refused_for_seconds` above 0: the provider has refused to renew them, and is asked again after so long.
    """

    def __init__(self, refused_for_seconds: int = 0) -> None:
        super().__init__("tokens busy")
        self.refused_for_seconds = refused_for_seconds


class LeaseLost(Exception):  # noqa: N818 - reads as what happened
    """Another worker has taken the pull over; this one writes nothing more."""


class ConnectionBroken(Exception):  # noqa: N818 - reads as what happened
    """The connection gives no data until the person connects again."""
