"""Polar, read from its AccessLink API v3."""
