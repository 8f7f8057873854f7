"""Ultrahuman, read from its partner API."""
