"""Where results are sent: sinks that programs declare, and the spool between them and the engine."""
