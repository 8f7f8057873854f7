"""Apple Health exports: a streaming reader in bounded memory that yields the store's neutral shapes."""
