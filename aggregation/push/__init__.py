"""Data pushed over HTTP: read, decoded, stored once, and answered with a receipt that names what was refused."""
