"""Sealed values and the encrypted fields."""

import base64
import secrets

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from healthsvc.kernel import crypto
from healthsvc.kernel.scope import team_scope
from tests.factories import Tenant, user_make
from users.models import User


def _key(key_id: str) -> str:
    return f"{key_id}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


@given(st.binary(max_size=2000), st.text(max_size=50))
def test_what_is_sealed_opens_at_its_place_only(plaintext: bytes, place: str) -> None:
    sealed = crypto.seal(plaintext, place=place)
    assert crypto.unseal(sealed, place=place) == plaintext
    with pytest.raises(crypto.DecryptionError):
        crypto.unseal(sealed, place=place + "x")


def test_no_byte_can_be_changed() -> None:
    sealed = crypto.seal(b"value", place="t.c")
    for position in range(len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        with pytest.raises(crypto.DecryptionError):
            crypto.unseal(bytes(changed), place="t.c")
    for length in range(len(sealed)):
        with pytest.raises(crypto.DecryptionError):
            crypto.unseal(sealed[:length], place="t.c")


def test_the_same_value_is_never_sealed_alike() -> None:
    assert crypto.seal(b"v", place="t.c") != crypto.seal(b"v", place="t.c")


def test_old_keys_still_open(settings: Settings) -> None:
    old, new = _key("old"), _key("new")
    settings.FIELD_ENCRYPTION_KEYS = old
    sealed = crypto.seal(b"v", place="t.c")
    settings.FIELD_ENCRYPTION_KEYS = f"{new},{old}"
    assert crypto.unseal(sealed, place="t.c") == b"v"
    assert (crypto.sealed_key_id(sealed), crypto.current_key_id()) == ("old", "new")
    settings.FIELD_ENCRYPTION_KEYS = new
    with pytest.raises(crypto.DecryptionError):
        crypto.unseal(sealed, place="t.c")


@pytest.mark.parametrize("text", ["", "k1", "k1:", "k1:c2hvcnQ=", "k1:!!!!", ":" + "A" * 43 + "="])
def test_bad_key_rings_are_refused(settings: Settings, text: str) -> None:
    settings.FIELD_ENCRYPTION_KEYS = text
    with pytest.raises(ImproperlyConfigured):
        crypto.current_key_id()


def test_hashes_of_different_purposes_differ(settings: Settings) -> None:
    first = crypto.keyed_hash("a", "value")
    assert crypto.same_hash(first, crypto.keyed_hash("a", "value"))
    assert first != crypto.keyed_hash("b", "value")
    settings.KEY_PEPPER = "another"
    assert first != crypto.keyed_hash("a", "value")


def test_the_encrypted_field_reads_back_and_lies_sealed(team: Tenant) -> None:
    from datetime import date

    user = user_make(team, fallback_birth_date=date(1987, 6, 5))
    with team_scope(team.context):
        assert User.objects.get(pk=user.pk).fallback_birth_date == "1987-06-05"
        with connection.cursor() as cursor:
            cursor.execute("SELECT fallback_birth_date FROM users_user WHERE id = %s", [user.pk])
            raw = bytes(cursor.fetchone()[0])
    assert b"1987" not in raw
    assert crypto.unseal(raw, place="users_user.fallback_birth_date") == b"1987-06-05"
