"""The operator's look into the store."""

from io import StringIO
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from aggregation.codec import block_decode, block_encode
from aggregation.models import Block, Series, Tail
from aggregation.services import health_data_store
from aggregation.store.columns import block_take
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, batch, heartrates, us
from users.models import User

BASE_US = us(2026, 3, 1)
MINUTE_US = 60_000_000
GOOD = {"users": 1, "series": 1, "blocks": 2, "tail_rows": 1, "samples": 1_601, "damaged": 0, "places": []}


@pytest.fixture
def user(team: factories.Tenant) -> User:
    """Two days of minutes, the second with a tail."""
    user = factories.user_make(team)
    minutes = {BASE_US + minute * MINUTE_US: 60.0 + minute % 7 for minute in range(1_601)}
    with team_scope(team.context):
        for some in (dict(list(minutes.items())[:1_600]), {1_600 * MINUTE_US + BASE_US: 60.5}):
            health_data_store(team=team.context, user_id=user.id, series=[heartrates(some)], emit=False)
    return user


def run(name: str, *arguments: str) -> dict[str, Any]:
    """A command's `--json` answer, also of one that fails after it."""
    out = StringIO()
    try:
        call_command(name, *arguments, "--json", stdout=out)
    except CommandError:
        if not out.getvalue():
            raise
    answer: dict[str, Any] = orjson.loads(out.getvalue())
    return answer


def verify(team: factories.Tenant) -> dict[str, Any]:
    return run("samples_verify", "--team", str(team.team.id))


def test_a_good_store_is_verified(team: factories.Tenant, other_team: factories.Tenant, user: User) -> None:
    assert verify(team) == GOOD
    assert run("samples_verify") == GOOD
    assert run("samples_verify", "--user", str(user.id)) == GOOD
    assert verify(other_team)["users"] == 0
    out = StringIO()
    call_command("samples_verify", stdout=out)
    assert "samples: 1601" in out.getvalue()


def damage(case: str) -> None:
    block = Block.objects.order_by("bucket").first()
    assert block is not None
    mine = Block.objects.filter(user_id=block.user_id, bucket=block.bucket)
    data = bytes(block.data)
    decoded = block_decode(data)
    match case:
        case "damaged":
            mine.update(data=data[:-1] + bytes((data[-1] ^ 1,)))
        case "wrong_count":
            mine.update(n=block.n + 1)
        case "out_of_order":
            mine.update(data=block_encode(block_take(decoded, slice(None, None, -1))))
        case "outside_its_time":
            Series.objects.update(bucket_seconds=43_200)
        case "tail_without_block":
            Block.objects.exclude(bucket=block.bucket).delete()


@pytest.mark.parametrize(
    ("case", "damaged"),
    [
        ("damaged", 1),
        ("wrong_count", 1),
        ("out_of_order", 1),
        ("outside_its_time", 3),
        ("tail_without_block", 1),
    ],
)
def test_each_damage_is_found_and_named_without_values(
    team: factories.Tenant, user: User, case: str, damaged: int
) -> None:
    with team_scope(team.context):
        damage(case)
        series_id = Series.objects.get().series_id
    found = verify(team)
    assert found["damaged"] == damaged
    assert [place["problem"] for place in found["places"]] == [case] * damaged
    first = found["places"][0]
    assert (first["team_id"], first["user_id"], first["series_id"]) == (str(team.team.id), str(user.id), series_id)
    assert set(first) == {"problem", "team_id", "environment", "user_id", "series_id", "bucket", "seq"}
    with pytest.raises(CommandError, match=f"^{damaged} blocks or rows of tails are damaged"):
        call_command("samples_verify", stdout=StringIO())


def test_a_damaged_tail_is_found(team: factories.Tenant, user: User) -> None:
    with team_scope(team.context):
        Tail.objects.update(data=b"nonsense")
    assert [(place["problem"], place["seq"] > 0) for place in verify(team)["places"]] == [("damaged", True)]


def test_samples_are_shown_with_their_sources(team: factories.Tenant) -> None:
    user = factories.user_make(team)
    with team_scope(team.context):
        health_data_store(
            team=team.context,
            user_id=user.id,
            series=[
                batch([(BASE_US, BASE_US + MINUTE_US, 12.0, 3_600, "walking")], source=WATCH),
                batch(
                    [(BASE_US + n * MINUTE_US, BASE_US + (n + 1) * MINUTE_US, 5.0, 0, None) for n in range(9)],
                    source=PHONE,
                ),
            ],
            emit=False,
        )
    answer = run(
        "samples_show", str(user.id), "steps", "--team", str(team.team.id), "--to", "2026-03-01T00:02:00+00:00"
    )
    assert answer["more"] is False
    assert sorted(answer["samples"], key=lambda row: (row["source_type"], row["start"]))[2] == {
        "start": "2026-03-01T00:00:00+00:00",
        "end": "2026-03-01T00:01:00+00:00",
        "offset_seconds": 3_600,
        "provider": "oura",
        "source_type": "watch",
        "app_id": None,
        "device_id": None,
        "value": 12.0,
        "type": "walking",
        "unit": None,
    }
    assert len(answer["samples"]) == 3
    later = run(
        "samples_show", str(user.id), "steps", "--team", str(team.team.id), "--from", "2026-03-01T00:01", "--limit", "3"
    )
    assert (len(later["samples"]), later["more"]) == (3, True)
    assert run("samples_show", str(user.id), "steps", "--limit", "1")["more"] is True
    none = run("samples_show", str(user.id), "steps", "--team", str(team.team.id), "--provider", "garmin")
    assert none == {"samples": [], "more": False}
    with team_scope(team.context):
        records = AccessRecord.objects.filter(action="samples_show")
        assert [record.object_ids for record in records] == [{"user_id": str(user.id), "resource": "steps"}] * 4


def test_a_look_at_nobody_is_refused(team: factories.Tenant, other_team: factories.Tenant, user: User) -> None:
    right = [str(user.id), "heartrate", "--team", str(team.team.id)]
    for wrong in (
        [right[0], "mood", *right[2:]],
        [*right[:3], str(other_team.team.id)],
        ["someone", *right[1:]],
        [*right, "--from", "yesterday"],
        [*right, "--limit", "0"],
    ):
        with pytest.raises(CommandError):
            run("samples_show", *wrong)
    with team_scope(team.context):
        assert AccessRecord.objects.count() == 0
