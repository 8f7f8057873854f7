"""The stage of the fuzz run."""

from collections.abc import Iterator

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker, Settings

from tests.fuzz.cast import Cast, cast_make


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Cast]:
    """One team for all operations, for what a request changes is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield cast_make()
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def _no_limits(settings: Settings) -> None:
    """Refusals of a key that asks too often would hide every other answer."""
    settings.RATE_LIMIT_REQUESTS = 0
