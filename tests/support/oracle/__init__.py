"""The language written as nested loops: what every answer is judged by."""
