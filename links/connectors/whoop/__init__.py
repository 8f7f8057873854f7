"""WHOOP, read from its developer API v2."""
