"""Trouble on purpose: real processes that are killed, starved and lied to, and an account of what came of it.

    make chaos                                            twenty minutes on all three: local, Spark and serve
    python -m tests.integration.chaos --seed 7 --engine local --episode 3     one episode again

An *episode* is a folder with a random program, a process that follows its input, and a list of troubles drawn from a seed. After
each trouble rows arrive in every stream, and the output must become exactly what an undisturbed run would have written.
"""
