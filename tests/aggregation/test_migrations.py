"""What migrations make of the data that are there."""

from importlib import import_module

from django.apps import apps
from django.db import connection

from aggregation.models import Series
from aggregation.services import health_data_store
from tests import factories
from tests.aggregation.samples import PHONE, WATCH, heartrates, stored, us

BASE_US = us(2026, 3, 1)
DAY_US = 86_400_000_000


def test_series_of_before_count_what_they_hold(in_team: factories.Tenant, other_team: factories.Tenant) -> None:
    users = [factories.user_make(in_team) for _ in range(2)]
    for user in users:
        days = {BASE_US + day * DAY_US + hour: 60.0 for day in range(3) for hour in range(4)}
        series = [heartrates(days, source=WATCH), heartrates({BASE_US: 50.0}, source=PHONE)]
        health_data_store(team=in_team.context, user_id=user.id, series=series, emit=False)
    Series.objects.update(samples=0, oldest_us=None, newest_us=None)
    migration = import_module("aggregation.migrations.0002_tails_pushes_priorities")
    with connection.schema_editor() as editor:
        migration.series_totals(apps, editor)
    with connection.cursor() as cursor:
        # The scope that the migration gave itself has ended.
        cursor.execute("SELECT current_setting('healthsvc.system', true)")
        assert cursor.fetchall() == [("",)]
    for user in users:
        assert len(stored(in_team.context, user.id, "heartrate")) == 2
    edges = (BASE_US, BASE_US + 2 * DAY_US + 3)
    totals = list(Series.objects.values_list("samples", "oldest_us", "newest_us"))
    assert sorted(totals) == [(1, BASE_US, BASE_US)] * 2 + [(12, *edges)] * 2
