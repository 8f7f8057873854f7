"""Measurements, run by `make bench`; importing the package sets Django up."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "healthsvc.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
os.environ.setdefault("RATE_LIMIT_REQUESTS", "0")
django.setup()
