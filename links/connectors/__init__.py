"""One package for each provider whose data the service can read."""
