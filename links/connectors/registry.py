"""The connectors there are, by provider slug."""

from collections.abc import Mapping

from links.connectors.base import Connector
from links.connectors.oura.client import OuraConnector
from links.connectors.withings.client import WithingsConnector

CONNECTORS: Mapping[str, Connector] = {"oura": OuraConnector(), "withings": WithingsConnector()}
