"""Endpoints, the events that are owed to them, how each delivery went, and who may look at it."""

from webhooks.models.endpoints import Endpoint, EndpointHealth
from webhooks.models.log import Attempt, Delivery, Event, Tally, Total
from webhooks.models.portal import PortalSession

__all__ = ["Attempt", "Delivery", "Endpoint", "EndpointHealth", "Event", "PortalSession", "Tally", "Total"]
