"""What a person reads of each provider on the page that asks for their consent: true of it, and said once."""

import re

import pytest

from links.catalogue import catalogue
from links.choices import choices_of, shared_resources
from links.connectors.registry import CONNECTORS
from tests.factories import Tenant, user_make
from tests.links.linking import browser, opened, token_make

_SLUGS = sorted(catalogue())
_IDLE = frozenset(("a", "as", "at", "by", "each", "every", "in", "of", "one", "the", "through", "it"))


def _content(text: str) -> set[str]:
    """The words that say something, without their endings."""
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower()) if word not in _IDLE}


@pytest.mark.parametrize("slug", _SLUGS)
def test_how_fine_a_resource_is_repeats_none_of_its_words(slug: str) -> None:
    for shared in shared_resources(catalogue()[slug]):
        assert not _content(shared.granularity) & _content(shared.words.words), shared
        assert re.fullmatch("|every [0-9 ]*[a-z]+", shared.granularity), shared


@pytest.mark.parametrize("slug", _SLUGS)
def test_the_person_is_spoken_to_and_told_no_machine_s_words(slug: str) -> None:
    provider = catalogue()[slug]
    told = [provider.description, *(one.words.words for one in shared_resources(provider))]
    told += [words for one in provider.scope_words.values() for words in (one.title, one.words)]
    for text in told:
        assert not re.search(r"the person|customer|older login|_", text), text
        assert text[0].isupper()
    assert not any(one.words.words.endswith(".") for one in shared_resources(provider))


@pytest.mark.parametrize("slug", sorted(CONNECTORS))
def test_every_scope_that_may_be_given_on_top_has_words(slug: str) -> None:
    provider = catalogue()[slug]
    on_top = [choice for choice in choices_of(provider) if choice.on_top]
    assert [choice.scopes[0] for choice in on_top] == list(provider.scopes_on_top)
    for choice in on_top:
        assert choice.on_top == provider.scope_words[choice.scopes[0]]


def test_no_two_providers_are_told_alike() -> None:
    told = [provider.description for provider in catalogue().values()]
    assert len(told) == len(set(told))


def test_only_what_the_converters_keep_is_told() -> None:
    """Where a vendor gives less or more than the resource's own words say."""
    told = {
        (slug, name): catalogue()[slug].words.get(name, "") for slug in CONNECTORS for name in ("activity", "profile")
    }
    assert told["strava", "profile"].startswith("Your sex")
    assert "steps" not in told["whoop_v2", "activity"].lower()
    assert told["whoop_v2", "profile"].startswith("Your height")
    assert told["ultrahuman", "activity"] == "Steps of each day, and your resting heart rate"
    assert "distance walked" in told["oura", "activity"]


def test_strava_is_asked_for_nothing_that_is_not_read() -> None:
    assert set(catalogue()["strava"].scopes) == {"read", "activity:read", "activity:read_all"}


def test_the_page_says_what_strava_adds(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    body = client.get(f"{page}/provider/strava").content.decode()
    assert "Private activities" in body
    assert "only you can see" in body
    assert "More of" not in body
    assert "Your height" not in body


def test_withings_repeats_nothing(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    body = client.get(f"{page}/provider/withings").content.decode()
    assert "short stretches" not in body
    assert "as the device measured it" not in body
    garmin = client.get(f"{page}/provider/garmin").content.decode()
    assert "Steps through the day – every 15 minutes" in garmin


def test_a_form_promises_nothing_that_is_not_the_service_s(team: Tenant) -> None:
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    by_password = client.get(f"{page}/provider/abbott_libreview").content.decode()
    assert "They are handed to LibreView to log in, and not kept." in by_password
    by_email = client.get(f"{page}/provider/freestyle_libre").content.decode()
    assert "you type the e-mail address that FreeStyle Libre knows you by. No password is asked for." in by_email
    by_oauth = client.get(f"{page}/provider/oura").content.decode()
    assert "you log in at Oura itself" in by_oauth
    for slug in ("abbott_libreview", "freestyle_libre"):
        assert "never sees" not in client.get(f"{page}/provider/{slug}/login").content.decode()
    assert all("never sees" not in body for body in (by_password, by_email, by_oauth))
