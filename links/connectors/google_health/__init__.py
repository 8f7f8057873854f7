"""Google Health, which serves the accounts of the Fitbit Web API that was shut down."""
