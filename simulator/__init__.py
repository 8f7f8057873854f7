"""A program that plays the vendors a person can connect. It stands alone, as a vendor does."""
