"""What is kept of whom: users by pages, how far their data reach, and when they were last asked for."""

from aggregation.introspection.days import DaysWanted, days_with_data
from aggregation.introspection.resources import ResourceStatistics, UserResources, resources_of
from aggregation.introspection.users import UsersPage, users_page

__all__ = [
    "DaysWanted",
    "ResourceStatistics",
    "UserResources",
    "UsersPage",
    "days_with_data",
    "resources_of",
    "users_page",
]
