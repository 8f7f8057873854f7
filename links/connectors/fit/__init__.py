"""FIT files, in which devices record a workout: fetched, read within bounds, and told as the service's records."""
