"""Starting Spark: Java, the session, the archive that makes it quick."""
