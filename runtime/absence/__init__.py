"""Rows that depend on what is not there: outer joins and [NOT] EXISTS, decided by watermarks.

The words of this room, by `A LEFT JOIN B ON c` (`meaning/absence` has the whole idea):

    pattern   an ordinary join. Here there are two: A with B where c holds, and A alone
    guard     what a row of a pattern waits for. A alone is a result only if no row of the first pattern has the same tuple of A
    negated   a guard that asks for nothing to be there, as this one; that of EXISTS asks for something
    mark      a row of another pattern that answers a guard: here each row of A with B
    entry     what a guard knows of a tuple that it watches: whether a mark has reached it, and when
    rule      one of the queries that share a node; they have the same patterns, with other constants
"""
