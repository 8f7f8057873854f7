"""Erasures and deleted users in the staff admin: the receipt is there whole, and can be taken along."""

import base64
import json

import pytest
from django.test import Client

from management.models import StaffUser
from tests.factories import Tenant, user_make
from tests.users.erasing import deleted, erased
from users.receipts import SignedReceipt, receipt_is_true

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(db: None) -> Client:
    """A browser of signed-in staff."""
    client = Client()
    client.force_login(StaffUser.objects.create_superuser(username="ada", email="", password="correct horse battery"))
    return client


def test_the_receipt_is_shown_and_downloaded_with_what_proves_it(team: Tenant, staff: Client) -> None:
    erasure = erased(team, user_make(team).id)
    address = f"/admin/users/erasure/{erasure.pk}/"
    page = staff.get(f"{address}change/").content.decode()
    key = base64.b64encode(bytes(erasure.receipt_public_key or b"")).decode()
    signature = base64.b64encode(bytes(erasure.receipt_signature or b"")).decode()
    # In a page "+" and "=" are entities.
    assert all(part in page.replace("&#x27;", "'") for part in (key.rstrip("="), signature.rstrip("=")))
    assert f"&quot;erasure_id&quot;: &quot;{erasure.pk}&quot;,\n" in page
    assert "Download the receipt" in page
    answer = staff.get(f"{address}receipt/")
    assert answer["Content-Disposition"] == f'attachment; filename="erasure_receipt_{erasure.pk}.json"'
    receipt = json.loads(answer.content)
    assert (receipt["algorithm"], receipt["signature"], receipt["public_key"]) == ("Ed25519", signature, key)
    told = SignedReceipt(receipt["text"], base64.b64decode(signature), base64.b64decode(key))
    assert receipt_is_true(told)


def test_who_may_not_see_erasures_has_no_receipt_and_an_open_one_has_none(team: Tenant, staff: Client) -> None:
    erasure = deleted(team, user_make(team).id)
    assert "Download the receipt" not in staff.get(f"/admin/users/erasure/{erasure.pk}/change/").content.decode()
    assert staff.get(f"/admin/users/erasure/{erasure.pk}/receipt/").status_code == 404
    stranger = Client()
    stranger.force_login(StaffUser.objects.create_user(username="bo", password="correct horse", is_staff=True))
    assert stranger.get(f"/admin/users/erasure/{erasure.pk}/receipt/").status_code == 403


def test_a_deleted_user_is_told_from_a_living_one_at_once(team: Tenant, staff: Client) -> None:
    user_make(team, client_user_id="stays")
    deleted(team, user_make(team, client_user_id="goes").id)
    page = staff.get("/admin/users/user/").content.decode()
    assert (page.count('<td class="field-state">living'), page.count('<td class="field-state">deleted <span')) == (1, 1)
    gone = staff.get("/admin/users/user/", {"living": "no"}).content.decode()
    assert ("goes" in gone, "stays" in gone) == (True, False)
