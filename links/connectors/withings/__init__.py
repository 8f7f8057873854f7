"""Withings, read from its data API."""
