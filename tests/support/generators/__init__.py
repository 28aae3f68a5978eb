"""Seeded random programs and data: the same seed gives the same case for ever.

case = random_case(7)
case.program      the text of a program
case.arrivals     its input in order of arrival
"""

from tests.support.generators.cases import Case, random_case, random_program
from tests.support.generators.splits import micro_batches, shuffled_streams

__all__ = ["Case", "micro_batches", "random_case", "random_program", "shuffled_streams"]
