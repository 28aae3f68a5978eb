"""Tests of whole processes: the service, Spark, chaos."""
