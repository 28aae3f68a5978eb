"""From what operators found to the result rows of each query."""
