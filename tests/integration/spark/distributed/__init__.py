"""The graph on executors: the stages in this process, and on Spark."""
