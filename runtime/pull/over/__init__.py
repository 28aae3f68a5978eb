"""OVER: values for each row from the rows around it."""
