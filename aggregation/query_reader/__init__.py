"""The store as the query engine sees it: what can be queried, and one user's data as arrays."""

from aggregation.query_reader.reader import StoreReader
from aggregation.query_reader.schema import SCHEMA
from aggregation.query_reader.summaries import local_now_us

__all__ = ["SCHEMA", "StoreReader", "local_now_us"]
