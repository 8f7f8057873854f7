"""What the webhooks' views of the management address share: the path of a team, with messages in it."""

from typing import ClassVar, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from healthsvc.kernel.errors import Problem, invalid
from healthsvc.kernel.ids import uuid_parse
from management import team_base
from management.team_base import ENVIRONMENT_PARAMETER
from webhooks.constants import MESSAGE_PREFIX

__all__ = ["ENVIRONMENT_PARAMETER", "MESSAGE_PARAMETER", "TeamPathViewSet"]

MESSAGE_PARAMETER: Final = OpenApiParameter(
    "message_id", OpenApiTypes.STR, OpenApiParameter.PATH, description="The `webhook-id` of the message: `msg_…`."
)


class TeamPathViewSet(team_base.TeamPathViewSet):
    """For management keys that may see the team in the path, where messages are named as they arrive."""

    text_parameters: ClassVar[frozenset[str]] = frozenset({"message_id"})

    def _parse_path(self) -> None:
        super()._parse_path()
        if "message_id" not in self.kwargs:
            return
        message_id = uuid_parse(self.kwargs["message_id"].removeprefix(MESSAGE_PREFIX))
        if message_id is None:
            raise invalid([Problem(("path", "message_id"), "Not a message's id.", "message_id_parsing")])
        self.kwargs["message_id"] = message_id
