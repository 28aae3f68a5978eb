"""Alerts: what watches the observations of keys, and tells when one begins and ends to be bad."""
