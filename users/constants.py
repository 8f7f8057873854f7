"""Numbers and names of the users app."""

from typing import Final

CLIENT_USER_ID_MAXIMUM_CHARACTERS: Final = 255
LIST_LIMIT_DEFAULT: Final = 100
LIST_LIMIT_MAXIMUM: Final = 500
#: PostgreSQL's bigint would be far beyond any list; this bounds what a client can make the database skip.
LIST_OFFSET_MAXIMUM: Final = 100_000_000

#: The `source_slug` of values that the customer gave through the API.
MANUAL_SOURCE_SLUG: Final = "manual"
