"""CREATE ALERT: watch the observations of each key, and tell when it turns bad and when that is over."""
