"""The service answers at two addresses; this names how a request says at which one it came in."""

#: The WSGI environment key that the management server sets.
ADDRESS_KEY = "healthsvc.address"
MANAGEMENT_ADDRESS = "management"
