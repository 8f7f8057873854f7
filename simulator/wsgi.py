"""The entry point of a WSGI server: `granian --interface wsgi simulator.wsgi:application`."""

import os

from simulator.app import Simulator
from simulator.configuration import Configuration

application = Simulator(Configuration.from_environment(os.environ))
