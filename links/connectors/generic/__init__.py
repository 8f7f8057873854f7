"""The simulator's generic data, for sandbox connections to providers without a connector of their own."""
