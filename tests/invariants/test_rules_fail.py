"""Each rule that is not shown to fail beside itself is broken here once, and found."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.http import HttpResponse
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from rest_framework.response import Response

from healthsvc import reference_docs
from healthsvc.kernel.api import Access
from healthsvc.runtime.management.commands import openapi_snapshot
from tests.clients import ApiClient
from tests.documents import TEAM_URLCONF, check_documented, document
from tests.factories import Tenant, user_make
from tests.invariants import test_code, test_database, test_documentation, test_routes
from users import selectors
from users.api import UserViewSet
from users.models import User
from webhooks.registry import EventType, event_types


def test_a_route_that_is_open_to_everyone_is_found(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    document(TEAM_URLCONF)  # made before anything is broken, for it is kept for the tests that follow
    monkeypatch.setattr(UserViewSet, "access", Access.PUBLIC)
    with pytest.raises(AssertionError):
        test_routes.test_public_routes_are_those_with_a_reason()
    nobody: dict[str, object] = {"users": [], "total": 0, "offset": 0, "limit": 100}
    monkeypatch.setattr(UserViewSet, "list", lambda _view, _request: Response(nobody))
    route = next(item for item in test_routes.ROUTES if str(item) == "GET /v2/user")
    with pytest.raises((AssertionError, KeyError)):  # the answer is a 200, and has no error code
        test_routes.test_every_route_without_a_key_is_401(None, route)


def test_an_undocumented_answer_fails_the_test_that_gets_it() -> None:
    request = RequestFactory().get("/v2/user")
    for status, body in ((418, b"{}"), (200, b'{"users": "none"}')):
        response: Any = HttpResponse(body, status=status, content_type="application/json")
        response.wsgi_request = request
        request.resolver_match = type("Match", (), {"route": "v2/user"})()
        with pytest.raises(AssertionError):
            check_documented(response, "GET", at_management=False)


def test_a_query_for_each_row_is_found(monkeypatch: pytest.MonkeyPatch, api: ApiClient, team: Tenant) -> None:
    bulk = selectors.sources_of
    monkeypatch.setattr(
        selectors, "sources_of", lambda asked, users: {user.id: bulk(asked, [user])[user.id] for user in users}
    )

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            api.get("/v2/user")
        return len(captured)

    user_make(team)
    api.get("/v2/user")
    one = queries()
    for _ in range(4):
        user_make(team)
    assert queries() - one == 4


def test_a_changed_answer_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = {"healthsvc.urls": tmp_path / "openapi.json"}
    monkeypatch.setattr(openapi_snapshot, "SNAPSHOTS", kept)
    kept["healthsvc.urls"].write_text("{}\n")
    with pytest.raises(CommandError, match="differs"):
        call_command("openapi_snapshot", "--check")


def test_a_missing_migration_is_found(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr(User._meta.get_field("client_user_id"), "max_length", 254)
    with pytest.raises(SystemExit):
        test_database.test_no_migration_is_missing(None)


def test_a_stale_page_and_an_undocumented_event_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_docs, "PAGES", {"docs/errors.md": lambda: "something else"})
    with pytest.raises(CommandError, match="Stale"):
        call_command("docs_generate", "--check")
    known = {**event_types(), "never.documented": EventType("never.documented", "It happened.", {}, {})}
    monkeypatch.setattr(test_documentation, "event_types", lambda: known)
    with pytest.raises(AssertionError):
        test_documentation.test_every_event_is_in_the_docs_and_its_sample_is_json()


def test_an_undocumented_setting_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_docs, "SETTING_MEANINGS", {})
    with pytest.raises(AssertionError):
        test_documentation.test_every_setting_has_a_meaning_and_every_meaning_a_setting()


def test_an_untested_command_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_documentation, "get_commands", lambda: {"never_" + "called": "users", "up": "users"})
    with pytest.raises(AssertionError):
        test_documentation.test_every_command_is_called_by_a_test()


def test_a_stale_exemption_fails() -> None:
    test_code.exempted({"a.py"}, {"a.py": "a reason"})
    for found, exemptions in (({"a.py"}, {}), (set(), {"a.py": "a reason"})):
        with pytest.raises(AssertionError):
            test_code.exempted(found, exemptions)


@pytest.mark.parametrize(
    ("rule", "file_name", "content"),
    [
        (test_code.test_files_and_functions_keep_to_their_sizes, "long.py", '"""Long."""\n' * 501),
        (test_code.test_every_module_says_what_it_is_for, "silent.py", "NUMBER = 1\n"),
        (test_code.test_no_shapeless_names, "utils.py", '"""Everything."""\n'),
    ],
)
def test_a_module_against_the_house_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: object, file_name: str, content: str
) -> None:
    (tmp_path / file_name).write_text(content)
    monkeypatch.setattr(test_code, "sources", lambda **_values: [tmp_path / file_name])
    with pytest.raises(AssertionError):
        rule()  # type: ignore[operator]


def test_keys_and_choices_without_their_guard_are_found() -> None:
    class Loose(models.Model):
        """A table that forgets its team and the constraint behind its choices."""

        client_user_id = models.CharField(max_length=10, choices=[("a", "a")])

        class Meta:
            app_label = "users"
            constraints = [models.UniqueConstraint(fields=["client_user_id"], name="loose_once")]

    try:
        with pytest.raises(AssertionError):
            test_database.test_unique_keys_of_team_owned_tables_name_the_team(Loose)
        with pytest.raises(AssertionError):
            test_database.test_choices_are_backed_by_constraints(Loose)
    finally:
        Loose._meta.apps.all_models["users"].pop("loose")
        Loose._meta.apps.clear_cache()
