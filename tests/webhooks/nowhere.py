"""A Celery application whose broker is not there, configured as ours is."""

from celery import Celery

from healthsvc.celery import app as ours

app = Celery("nowhere", broker="redis+socket:///nonexistent/redis.sock?virtual_host=0", set_as_current=False)
app.conf.broker_transport_options = dict(ours.conf.broker_transport_options)
