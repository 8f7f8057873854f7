"""Two actions at the same moment, in an order that a test chooses: the first stops where it holds what it changes."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection as database
from django.db import connections
from django.utils.module_loading import import_string

from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant

Action = Callable[[], Any]

_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
_SECONDS = 20


class Overlap:
    """`run(first, second, stop_at=…)`: first runs into `stop_at`, then second runs until it ends or waits for a lock
    that first holds, then first goes on. Gives back what both came to, an exception as its own value."""

    def __init__(self, tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
        self._tenant = tenant
        self._monkeypatch = monkeypatch

    def run(self, first: Action, second: Action, *, stop_at: str) -> tuple[Any, Any]:
        """`stop_at` names a function that the first action calls, as `module.name`; it stops before it."""
        module, _, name = stop_at.rpartition(".")
        real = import_string(stop_at)
        stopped, go_on = threading.Event(), threading.Event()
        ours: list[int] = []

        def stopping(*args: Any, **values: Any) -> Any:
            if ours == [threading.get_ident()] and not stopped.is_set():
                stopped.set()
                assert go_on.wait(_SECONDS)
            return real(*args, **values)

        def begin() -> Any:
            ours.append(threading.get_ident())
            return first()

        self._monkeypatch.setattr(f"{module}.{name}", stopping)
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(self._result, begin)
            assert stopped.wait(_SECONDS), one.result()
            two = pool.submit(self._result, second)
            self._settle(two)
            go_on.set()
            results = one.result(_SECONDS), two.result(_SECONDS)
        self._monkeypatch.setattr(f"{module}.{name}", real)
        return results

    def together(self, *actions: Action) -> list[Any]:
        """All at once, in whatever order they come."""
        gate = threading.Barrier(len(actions))

        def run(action: Action) -> Any:
            gate.wait(_SECONDS)
            return self._result(action)

        with ThreadPoolExecutor(len(actions)) as pool:
            return list(pool.map(run, actions))

    def _result(self, action: Action) -> Any:
        try:
            with team_scope(self._tenant.context):
                return action()
        except Exception as error:  # noqa: BLE001 - what went wrong is the result
            return error
        finally:
            connections.close_all()

    @staticmethod
    def _settle(second: "Future[Any]") -> None:
        """Until the second action has ended, or waits for the first."""
        for _ in range(_SECONDS * 50):
            with database.cursor() as cursor:
                cursor.execute(_WAITING)
                waiting = cursor.fetchone()[0]
            if second.done() or waiting:
                return
            time.sleep(0.02)
        raise AssertionError("neither ended nor waiting")
