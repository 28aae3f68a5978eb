"""Files of records that the service writes down, and its latest results."""
