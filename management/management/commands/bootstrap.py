"""`bootstrap`: on the first start, a demo organisation, team, keys and staff login, shown once."""

from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction

from healthsvc.kernel.ids import random_text
from healthsvc.kernel.principal import Environment
from management import services
from management.models import Organisation, StaffUser

#: Characters of the generated staff password.
_PASSWORD_CHARACTERS = 20


class Command(BaseCommand):
    """Make the demo tenants once. Does nothing where any organisation exists."""

    help = "First start only: a demo organisation, team, keys and staff login. Safe to run on every start."

    def handle(self, *args: Any, **options: Any) -> None:
        """Make everything in one transaction, then show it and keep the keys for the pasteable call."""
        if Organisation.objects.exists():
            return
        with transaction.atomic():
            made = _demo_make()
            _keys_keep(made)
        self.stdout.write("First start: a demo organisation was made. These are shown only now:\n")
        for name, value in made.items():
            self.stdout.write(f"  {name:<20} {value}")


def _keys_keep(made: dict[str, str]) -> None:
    """Leave what the pasteable call needs where only the operator reads it; before the commit, so that none is lost."""
    path = Path(settings.DATA_DIR) / "demo.json"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(orjson.dumps({name: made[name] for name in ("org_id", "team_id", "api_key", "management_key")}))


def _demo_make() -> dict[str, str]:
    password = random_text(_PASSWORD_CHARACTERS)
    organisation, management_key = services.organisation_create(name="Demo organisation", created_by="bootstrap")
    team = services.team_create(organisation_id=organisation.id, name="Demo team", region="us")
    keys = {
        environment: services.team_key_create(team=team, environment=environment, label="demo", created_by="bootstrap")
        for environment in Environment
    }
    StaffUser.objects.create_superuser(username="staff", email="", password=password)
    return {
        "org_id": str(organisation.id),
        "team_id": str(team.id),
        "api_key": keys[Environment.SANDBOX].text,
        "production_api_key": keys[Environment.PRODUCTION].text,
        "management_key": management_key.text,
        "staff_login": "staff",
        "staff_password": password,
    }
