"""Commands of the links app."""
