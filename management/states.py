"""The life of a background job as a table; `management.jobs` alone walks it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from management.constants import JobStatus


class JobCommand(StrEnum):
    """What can happen to a job. `claim` of a running one is for a job whose worker died; `end` is somebody's who is not
    its worker.
    """

    CLAIM = "claim"
    RENEW = "renew"
    SUCCEED = "succeed"
    FAIL = "fail"
    END = "end"


#: (status, command) → status; a pair that is not here is refused.
TRANSITIONS: Final[Mapping[tuple[JobStatus, JobCommand], JobStatus]] = MappingProxyType(
    {
        (JobStatus.QUEUED, JobCommand.CLAIM): JobStatus.RUNNING,
        (JobStatus.RUNNING, JobCommand.CLAIM): JobStatus.RUNNING,  # only once the lease ran out
        (JobStatus.RUNNING, JobCommand.RENEW): JobStatus.RUNNING,
        (JobStatus.RUNNING, JobCommand.SUCCEED): JobStatus.SUCCEEDED,
        (JobStatus.RUNNING, JobCommand.FAIL): JobStatus.FAILED,
        (JobStatus.QUEUED, JobCommand.END): JobStatus.FAILED,
        (JobStatus.RUNNING, JobCommand.END): JobStatus.FAILED,
    }
)


def statuses_before(command: JobCommand) -> list[JobStatus]:
    """The statuses that a command may be given in."""
    return [status for status, given in TRANSITIONS if given is command]


def status_after(command: JobCommand) -> JobStatus:
    """The status that a command leads to; each leads to one."""
    (after,) = {after for (_before, given), after in TRANSITIONS.items() if given is command}
    return after
