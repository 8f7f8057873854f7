"""The sample store: blocks of samples merged under a lock on their series, and summaries by their id."""
