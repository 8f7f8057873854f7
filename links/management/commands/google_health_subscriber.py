"""`google_health_subscriber [--environment E] [--application ID]`: what Google needs to make our subscriber."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from healthsvc.kernel.principal import Environment
from links.connectors.google_health.hooks import RESOURCES, authorization_of
from links.connectors.google_health.points import SLUG
from links.models import ProviderHook
from links.services.hooks import hook_address
from links.states import HookStatus
from management.operator import OperatorCommand, uuid_argument


class Command(OperatorCommand):
    """Print the body of `projects.subscribers.create`. It holds the secret that Google's calls are checked by."""

    help = (
        "Print the JSON that makes our subscriber at Google Health, with the secret of its calls. Post it with the"
        " rights of the Google Cloud project to https://health.googleapis.com/v4/projects/NUMBER/subscribers."
    )

    def declare(self, parser: CommandParser) -> None:
        """Whose subscriber."""
        parser.add_argument("--environment", choices=[one.value for one in Environment], default="production")
        parser.add_argument("--application", help="a team's own registration; without it the operator's")

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        """The body. An address exists from the first connection on."""
        application_id = uuid_argument(options["application"]) if options["application"] else None
        hooks = ProviderHook.objects.filter(
            provider=SLUG, environment=options["environment"], application_id=application_id, connection_id=None
        )
        hook = hooks.exclude(status=HookStatus.UNWANTED).first()
        if hook is None:
            raise CommandError("Connect somebody first: an address for notices exists from the first connection on.")
        return {
            "endpointUri": hook_address(hook),
            "endpointAuthorization": {"secret": authorization_of(hook.verify_token)},
            "subscriberConfigs": [{"dataTypes": sorted(RESOURCES), "subscriptionCreatePolicy": "AUTOMATIC"}],
        }

    def handle(self, *args: Any, **options: Any) -> None:
        """Always as one JSON object: it is posted as it stands."""
        super().handle(*args, **{**options, "json": True})
