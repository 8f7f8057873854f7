"""The soak of deliveries: what its comparison finds wrong, and a small run of it that goes through."""

import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from healthsvc.kernel.scope import team_scope
from tests.databases import ROOT
from tests.factories import Tenant
from tests.webhooks.conftest import endpoint_make, hook, pump
from tests.webhooks.receiving import Answer, Receiver
from webhooks import services
from webhooks.constants import CLAIM_ROWS
from webhooks.models import Attempt, Endpoint

with pytest.MonkeyPatch.context() as environment:
    # Importing the package sets these where they are not set, and other tests' programs would inherit them.
    environment.setenv("RATE_LIMIT_REQUESTS", "0")
    environment.setenv("LOG_LEVEL", "ERROR")
    from bench.soak_arrivals import (
        Acknowledged,
        Arrival,
        Kept,
        acknowledged_read,
        arrival_problems,
        arrivals_read,
        attempt_problems,
        doubles,
        doubles_maximum,
        kept_read,
        message_ids,
        missing,
    )
    from bench.soak_deliveries import SMALL, WHOLE

__all__ = ["hook"]

PATH = "/one"
SENT = [Acknowledged(f"msg_{number}", f"digest-{number}", float(number), 0.001) for number in range(3)]
TAKEN = [Arrival(PATH, one.message_id, one.digest, "verified", 204, one.at_seconds + 0.1) for one in SENT]
KEPT = [Kept(PATH, one.message_id, "delivered", 1, 1, 1, 1) for one in SENT]
REFUSED = replace(TAKEN[0], status=500)


def compared(
    arrivals: Sequence[Arrival],
    *,
    sent: Sequence[Acknowledged] = SENT,
    committed: Collection[str] = ("msg_0", "msg_1", "msg_2"),
    doubles_maximum: int = 0,
) -> list[str]:
    """What is wrong with arrivals."""
    found = arrival_problems(sent, arrivals, paths=[PATH], committed=committed, doubles_maximum=doubles_maximum)
    return list(found)


def counted(
    kept: Sequence[Kept], arrivals: Sequence[Arrival] = TAKEN, *, gaps: int = 0, settled: str = ""
) -> list[str]:
    """What is wrong with rows."""
    return list(attempt_problems(kept, arrivals, settled=[settled], gaps_maximum=gaps))


def test_what_arrived_once_and_as_it_was_sent_is_right() -> None:
    assert compared(TAKEN) == []
    assert compared([REFUSED, *TAKEN]) == [], "one that failed first"
    assert compared([*TAKEN, TAKEN[0]], doubles_maximum=1) == []
    assert compared([*TAKEN], sent=SENT[:2]) == [], "committed, and the producer died before it noted it"
    assert counted(KEPT) == []


@pytest.mark.parametrize(
    ("arrivals", "problem"),
    [
        (TAKEN[:2], "1 /one: acknowledged and missing: msg_2"),
        ([*TAKEN[:2], replace(TAKEN[2], status=500)], "1 /one: acknowledged and missing: msg_2"),
        ([*TAKEN[:2], replace(TAKEN[2], path="/other")], "1 /one: acknowledged and missing: msg_2"),
        ([*TAKEN, replace(TAKEN[0], digest="another")], "1 has different bodies: msg_0"),
        ([*TAKEN[1:], replace(TAKEN[0], digest="another")], "1 has different bodies: msg_0"),
        ([*TAKEN[1:], replace(TAKEN[0], verdict="signature_wrong")], "1 is not verified: msg_0"),
        ([*TAKEN, replace(TAKEN[0], message_id="msg_3")], "1 never committed, and arrived: msg_3"),
        ([*TAKEN, TAKEN[0]], "1 came twice, and at most 0 may"),
    ],
)
def test_each_fault_of_arrivals_is_found(arrivals: list[Arrival], problem: str) -> None:
    assert problem in compared(arrivals, doubles_maximum=0)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"status": "pending", "successes": 0, "attempts": 0, "claims": 0, "highest": 0}, "1 is not delivered in"),
        ({"claims": 0}, "1 has more attempts than claims, or later ones"),
        ({"highest": 2}, "1 has more attempts than claims, or later ones"),
        ({"successes": 0}, "1 was delivered without exactly one success"),
        ({"successes": 2, "claims": 2, "attempts": 2, "highest": 2}, "1 has a success that no receiver gave"),
        ({"claims": 2, "highest": 2}, "1 claims have no attempt, and at most 0 may"),
        ({"claims": 2, "highest": 2}, "1 lost an attempt though nothing was killed"),
    ],
)
def test_each_fault_of_rows_is_found(row: dict[str, int], problem: str) -> None:
    found = counted([replace(KEPT[0], **row), *KEPT[1:]], settled="msg_0")  # type: ignore[arg-type]
    assert [one for one in found if one.startswith(problem)] != [], found


def test_what_was_taken_more_often_than_it_was_claimed_is_found() -> None:
    assert counted(KEPT, [*TAKEN, TAKEN[0]]) == ["1 was taken more often than its claims tell: msg_0"]
    assert counted([replace(KEPT[0], claims=2, highest=2), *KEPT[1:]], [*TAKEN, TAKEN[0]], gaps=1) == []


def test_at_most_one_claimed_batch_comes_twice_for_each_kill() -> None:
    assert [doubles_maximum(1, endpoints, 1) for endpoints in (1, 2, 4, 50)] == [64, 128, CLAIM_ROWS, CLAIM_ROWS]
    assert (doubles_maximum(10, 2, 1), doubles_maximum(1, 50, 3)) == (1280, 3 * CLAIM_ROWS)


def test_journals_are_read_to_their_last_whole_line(tmp_path: Path) -> None:
    sent, arrived = tmp_path / "sent", tmp_path / "arrived"
    sent.write_text("1.0\tmsg_1\tabc\t0.002\n2.0\tmsg_2\td")
    arrived.write_text("1.1\t/one\tmsg_1\tabc\tverified\t204\n1.2\t/other\tmsg_1\tabc\tverified\t204\n1.3\t/one\tmsg")
    assert acknowledged_read([sent, tmp_path / "none"]) == [Acknowledged("msg_1", "abc", 1.0, 0.002)]
    assert arrivals_read(arrived, [PATH]) == [Arrival(PATH, "msg_1", "abc", "verified", 204, 1.1)]
    assert (doubles(TAKEN), doubles([*TAKEN, TAKEN[1]]), doubles([*TAKEN, REFUSED])) == (0, 1, 0)
    assert missing(SENT, TAKEN[1:], PATH) == {"msg_0"}


@pytest.mark.django_db
def test_rows_are_read_as_they_are(team: Tenant, hook: Receiver) -> None:
    endpoint = endpoint_make(team, hook.url + PATH)
    hook.answers = [Answer(500), Answer(204)]
    with team_scope(team.context):
        ids = {f"msg_{services.event_send_now(team=team.context, endpoint_id=endpoint.id)}" for _ in range(2)}
    pump()
    kept = kept_read(team, {endpoint.id: PATH})
    assert message_ids(team) == {row.message_id for row in kept} == ids
    assert sorted((row.path, row.status, row.claims, row.attempts, row.highest, row.successes) for row in kept) == [
        (PATH, "delivered", 1, 1, 1, 1),
        (PATH, "pending", 1, 1, 1, 0),
    ]
    with team_scope(team.context):
        assert (Attempt.objects.count(), Endpoint.objects.count()) == (2, 1)


def test_the_whole_kills_as_often_as_is_promised() -> None:
    assert (WHOLE.worker_kills, WHOLE.database_kills, WHOLE.away_seconds, WHOLE.ages) == (10, 5, 600, False)
    assert SMALL.ages


@pytest.mark.slow
def test_a_small_soak_loses_nothing() -> None:
    command = [sys.executable, "-m", "bench.soak_deliveries", "--small"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=540)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    for name in ("workers_killed", "database_killed", "redis_gone", "everything"):
        assert f"{name}, 0 problems" in done.stdout
