"""A team's own registrations with providers: one in use for each, the former ones kept for what rests on them."""

from django.db import IntegrityError, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from links.catalogue import Provider
from links.models import ProviderApplication


def application_register(
    *, team: TeamContext, provider: Provider, client_id: str, client_secret: str
) -> ProviderApplication:
    """Use this registration for new logins. With the client id of the one in use, only its secret is another.

    Another client id is another row, for what was made with the former one goes on with it. One that was used before
    is taken up again.
    """
    try:
        return _register(team, provider.slug, client_id, client_secret)
    except IntegrityError:
        # Somebody else registered in the same moment; the later one stands.
        return _register(team, provider.slug, client_id, client_secret)


def application_secret_change(*, application: ProviderApplication, client_secret: str) -> None:
    """The vendor gave the same client another secret; connections go on with it."""
    rows = ProviderApplication.objects.filter(pk=application.pk)
    rows.update(client_secret=client_secret, updated_at=clock.now())


def application_retire(*, application: ProviderApplication) -> bool:
    """New logins use the operator's registration again. False where it was retired already."""
    now = clock.now()
    rows = ProviderApplication.objects.filter(pk=application.pk, retired_at=None)
    return bool(rows.update(retired_at=now, updated_at=now))


def _register(team: TeamContext, slug: str, client_id: str, client_secret: str) -> ProviderApplication:
    now = clock.now()
    with transaction.atomic():
        own = ProviderApplication.objects.for_team(team).filter(provider=slug).order_by("pk").select_for_update()
        known = {row.pk: row for row in own}
        ProviderApplication.objects.filter(pk__in=known, retired_at=None).exclude(client_id=client_id).update(
            retired_at=now, updated_at=now
        )
        found = next((row for row in known.values() if row.client_id == client_id), None)
        if found is None:
            return ProviderApplication.objects.create(
                **team_values(team),
                provider=slug,
                client_id=client_id,
                client_secret=client_secret,
                created_at=now,
                updated_at=now,
            )
        found.client_secret, found.retired_at, found.updated_at = client_secret, None, now
        found.save(update_fields=["client_secret", "retired_at", "updated_at"])
        return found
