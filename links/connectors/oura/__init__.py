"""Oura, read from its API v2."""
