"""The command that explains a query: its tree, its plan, and what it touches; no value of anybody's data."""

from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from aggregation.models import Block, Series, Tail
from healthsvc.kernel.ids import uuid_random
from healthsvc.kernel.scope import team_scope
from tests import factories
from tests.aggregation.queries import ANCHOR_ON, Body, at_us, long_sleep, of, put, question, series
from tests.clients import ApiClient
from users.models import User


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def written(tmp_path: Path, body: object) -> str:
    path = tmp_path / "query.json"
    path.write_bytes(orjson.dumps(body))
    return str(path)


def explained(tmp_path: Path, body: Body, *arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("explain_query", written(tmp_path, body), "--json", *arguments, stdout=out)
    answer: dict[str, Any] = orjson.loads(out.getvalue())
    return answer


def heart(**query: Any) -> Body:
    return question(of("mean", "heartrate"), of("max", "heartrate"), by="hour", days=2, **query)


def test_the_tree_and_the_plan_of_a_query(tmp_path: Path) -> None:
    body = heart(
        where="value >= 123.25 AND NOT (type = 'secretly' OR source_type < type)",
        config={"provider_priority_overrides": ["garmin"]},
    )
    answer = explained(tmp_path, body)
    assert list(answer) == ["tree", "window_start", "window_end", "plan"]
    lines = [one["line"] for one in answer["tree"]]
    assert lines[0] == "batch: QueryBatch"
    assert lines[lines.index("    select[1]: Aggregate") + 1] == "      func: max"
    assert (answer["window_start"], answer["window_end"]) == ("2026-02-28T00:00:00", "2026-03-02T00:00:00")
    (plan,) = answer["plan"]
    assert plan == {
        "query": "query 0",
        "table": "table=timeseries",
        "resources": "resources=heartrate",
        "columns": "columns=value,type,source_type",
        "keys": "keys=KeyTrunc",
        "where": "where=(value >= … AND (type != … AND source_type >= type))",
        "sources": "sources=best(garmin)",
        "names": "names=index,mean,max",
    }
    assert "123.25" not in orjson.dumps(answer).decode()
    assert "secretly" not in orjson.dumps(answer).decode()


def _within(model: type[Block] | type[Tail], user: User) -> list[Any]:
    """The rows that a day and a half around the window fall into, of the one series there is."""
    (row,) = Series.objects.filter(user_id=user.id)
    width_us, slack_us = row.bucket_seconds * 1_000_000, 64_800 * 1_000_000
    first = (at_us("2026-02-28T00:00") - slack_us) // width_us
    last = (at_us("2026-03-02T00:00") - 1 + slack_us) // width_us
    return list(model.objects.filter(user_id=user.id, bucket__gte=first, bucket__lte=last))


def test_what_a_query_touches_of_a_user(tmp_path: Path, api: ApiClient, team: factories.Tenant, user: User) -> None:
    api.patch("/v2/team/source/priorities", {"data_type": "timeseries", "priorities": {"oura": 7, "whoop_v2": 9}})
    put(
        team,
        user,
        series("heartrate", ["2026-02-26T10:00", "2026-02-28T10:00", "2026-03-01T10:00"], [61.0, 62.5, 63.0]),
    )
    put(team, user, long_sleep("a", ANCHOR_ON))
    body = heart()
    body["queries"].append({"select": [{"sleep": "score"}]})
    answer = explained(tmp_path, body, "--user", str(user.id))
    heartrate, sleep = answer["touched"]
    assert heartrate.pop("milliseconds").startswith("milliseconds=")
    with team_scope(team.context):
        blocks, tails = (_within(model, user) for model in (Block, Tail))
    both = [*blocks, *tails]
    assert heartrate == {
        "what": "heartrate",
        "series": "series=1",
        "blocks": f"blocks={len(blocks)}",
        "tails": f"tails={len(tails)}",
        "stored_samples": f"stored_samples={sum(one.n for one in both)}",
        "stored_bytes": f"stored_bytes={sum(len(one.data) for one in both)}",
        "rows": "rows=2",
    }
    assert sum(one.n for one in both) >= 2
    assert (sleep["what"], sleep["series"], sleep["rows"]) == ("sleep", "series=0", "rows=1")
    assert answer["rows_answered"] == 3
    assert answer["plan"][0]["sources"] == "sources=best(whoop_v2,oura)"
    assert answer["plan"][1]["sources"] == "sources=all"
    assert "62.5" not in orjson.dumps(answer["touched"]).decode()


def test_for_people_it_is_printed_line_by_line(tmp_path: Path, team: factories.Tenant, user: User) -> None:
    out = StringIO()
    arguments = ["--user", str(user.id), "--team", str(team.team.id)]
    call_command("explain_query", written(tmp_path, heart()), *arguments, stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[:2] == ["line", "batch: QueryBatch"]
    assert any(line.startswith("query 0  table=timeseries  resources=heartrate") for line in lines)
    assert any(line.startswith("heartrate  series=0  blocks=0  tails=0") for line in lines)


def test_a_team_without_a_user(tmp_path: Path, api: ApiClient, team: factories.Tenant) -> None:
    api.patch("/v2/team/source/priorities", {"data_type": "timeseries", "priorities": {"oura": 7}})
    arguments = ["--team", str(team.team.id), "--environment", str(team.context.environment)]
    answer = explained(tmp_path, heart(), *arguments)
    assert answer["plan"][0]["sources"] == "sources=best(oura)"
    assert "touched" not in answer


@pytest.mark.parametrize("body", [{"timeframe": {"placeholder": True}, "queries": []}, heart(where="valu > 1"), "x"])
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, body: object) -> None:
    with pytest.raises(CommandError, match=r"^body"):
        call_command("explain_query", written(tmp_path, body))


def test_who_is_not_there_is_not_explained(
    tmp_path: Path, team: factories.Tenant, other_team: factories.Tenant, user: User
) -> None:
    path = written(tmp_path, heart())
    for arguments in (
        ["--user", str(uuid_random())],
        ["--user", str(user.id), "--team", str(other_team.team.id)],
        ["--team", str(uuid_random())],
        ["--user", "somebody"],
    ):
        with pytest.raises(CommandError):
            call_command("explain_query", path, *arguments)
    with pytest.raises(CommandError, match="no such file"):
        call_command("explain_query", str(tmp_path / "missing.json"))
