"""Staff views of webhooks: never a secret; a payload only on request, to who may see it, with a trace."""

from webhooks.admin.attempts import AttemptAdmin as AttemptAdmin
from webhooks.admin.deliveries import DeliveryAdmin as DeliveryAdmin
from webhooks.admin.endpoints import EndpointAdmin as EndpointAdmin
from webhooks.admin.events import EventAdmin as EventAdmin
from webhooks.admin.sessions import PortalSessionAdmin as PortalSessionAdmin
