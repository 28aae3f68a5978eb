"""The shared graph spread over Spark's executors.

Two stages and a driver. *Stage one* (`stages/stage_one`) runs where rows are read: it types, rejects and drops late rows, answers
every query that needs no other tuple, and sends each tuple that some join or pull query wants to the cells where it may meet
others. *Stage two* (`stages/cell`) is one engine for each cell, over the tuples that come to it. The *driver* (`coordinator`) holds no
tuples: it knows how far each stream has come, says so in the header of every micro-batch, and puts the parts of answers together.

Nothing but `flow` knows Spark; the stages are plain functions of a header and bytes, and run the engine that every run uses.
"""
