"""A random case: a program, its input, and how the input arrives."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.support.generators.data import Row, random_row, random_stream
from tests.support.generators.families import Families
from tests.support.generators.queries import Queries
from tests.support.generators.schema import Declared, random_schema
from tests.support.generators.splits import shuffled_streams
from tests.support.generators.subsets import Subsets
from tests.support.generators.views import Views

if TYPE_CHECKING:
    from collections.abc import Sequence


FAMILIES = ("filters", "joins")


@dataclass(frozen=True)
class Case:
    """`arrivals` is the input of all streams in order of arrival; `declarations + queries` make the program."""

    seed: int
    schema: Sequence[Declared]
    queries: Sequence[str]
    arrivals: Sequence[tuple[str, Row]]
    tables: dict[str, list[Row]]
    views: Sequence[str] = ()

    @property
    def declarations(self) -> str:
        return "\n".join([*(relation.text for relation in self.schema), *self.views])

    @property
    def program(self) -> str:
        return self.declarations + "\n" + ";\n".join(self.queries) + ";\n"


def random_case(seed: int, kinds: Sequence[str] = ("any",), size: int = 9) -> Case:
    """A case of queries of the given kinds: `any`, `filter`, `join`, `pull`, `periodic`, `filters`, `joins` or `subsets`.

    `filters` and `joins` are families, `subsets` are joins of some of the same streams, `any` is one of the others; every
    fourth case of `any` has a family as well. `views` are queries over views, which the case declares.
    """
    rng = Random(seed)
    schema = random_schema(rng)
    numeric = all(column.type != "TIMESTAMP" for column in schema[0].columns if column.name == "ts")
    make = Queries(rng, schema, numeric)
    families = Families(rng, schema)
    queries: list[str] = []
    views = Views(rng, schema, numeric)
    if "views" in kinds:
        for _ in range(rng.randint(1, 5)):
            views.add()
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(list(kinds))
        if kind == "views":
            wanted = rng.choice(["filter", "join", "join", "pull", "pull", "periodic"])
            is_pull = wanted in ("pull", "periodic")
            queries.append(getattr(views.readers(pull=is_pull), wanted)())
        elif kind == "subsets":
            queries += Subsets(rng, schema).members()
        else:
            queries += getattr(families, kind)() if kind in FAMILIES else [getattr(make, kind)()]
    if "any" in kinds and rng.random() < 0.25:
        queries += rng.choice([families.filters, families.joins])()
    rows = {
        relation.name: random_stream(rng, relation, rng.randint(0, size))
        for relation in schema
        if relation.is_stream
    }
    tables = {
        relation.name: [random_row(rng, relation, None) for _ in range(rng.randint(0, 4))]
        for relation in schema
        if not relation.is_stream
    }
    return Case(seed, schema, queries, shuffled_streams(rng, rows), tables, views.statements)


def random_program(seed: int) -> str:
    """The text of a random program, for those who need no data."""
    return random_case(seed).program
