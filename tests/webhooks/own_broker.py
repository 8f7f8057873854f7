"""The Celery application of a test that has a broker of its own."""

from healthsvc.celery import ServiceCelery
from healthsvc.celery import app as service_app


def application(broker_url: str) -> ServiceCelery:
    """One that sends as the service does, to another broker."""
    made = ServiceCelery("own", broker=broker_url, set_as_current=False)
    made.conf.update(broker_transport_options=service_app.conf.broker_transport_options)
    return made


#: Replaced by each test.
app = application("redis+socket:///nonexistent/redis.sock?virtual_host=0")
