"""What can go wrong at a provider, sorted by what helps."""

from enum import StrEnum
from typing import Final

from links.constants import ConnectionErrorType


class FailureKind(StrEnum):
    """The kinds of failure, in the interface's words for historical pulls where it has one."""

    RATE_LIMITED = "provider_rate_limit_exceeded"  # come back later
    UNAVAILABLE = "provider_unavailable"  # try again
    TRANSPORT = "transport_failure"  # try again: no answer, or only a part of one
    TOKEN_REJECTED = "token_rejected"  # noqa: S105 - a kind; renew the tokens
    FORBIDDEN = "provider_forbidden"  # try again: refused without a reason, by a proxy or for a while
    SCOPE_MISSING = "scope_missing"  # the person did not allow it
    REFUSED = "non_retriable_error"  # the same again would be refused again


#: Failures that the same call would meet again.
LASTING: Final = frozenset({FailureKind.REFUSED, FailureKind.SCOPE_MISSING})
#: Failures of what was asked for, not of the provider: when a pull has ended so, its resource rests.
REFUSALS: Final = LASTING | {FailureKind.FORBIDDEN}


class ProviderFailure(Exception):  # noqa: N818 - it is the provider's failure, not an error of ours
    """A call that gave nothing to use. Holds no value of the answer."""

    def __init__(self, kind: FailureKind, *, retry_after_seconds: int = 0) -> None:
        super().__init__(str(kind))
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds


class GrantRefused(Exception):  # noqa: N818 - reads as what happened
    """The provider would not trade the code or refresh token: spent, expired, revoked or unknown.

    `error_type` is what a connection is broken with, where the refusal stands: most vendors tell no more than "no".
    """

    def __init__(self, error_type: ConnectionErrorType = ConnectionErrorType.TOKEN_REFRESH_FAILED) -> None:
        super().__init__(str(error_type))
        self.error_type = error_type
