"""What operators call by name."""
