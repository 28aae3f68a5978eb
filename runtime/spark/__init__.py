"""The engine on Spark: the only code that imports pyspark."""
