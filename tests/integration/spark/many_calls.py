# ruff: noqa: T201 - what it prints is what it is for
"""Very many random calls, operators and casts, on the engine and on Spark: `python -m tests.integration.spark.many_calls --calls 30 --rows 2000`.

A call that fails stops the whole query in Spark's ANSI mode. So Spark is asked about the rows for which the engine has a value, where it must have
the same; and of the others about a few, one by one, where it must have none. Each difference is printed with the row, once a call.
"""

from __future__ import annotations

import argparse
import itertools
import time
from random import Random
from typing import TYPE_CHECKING, Any

import cqc
from cqc.compiler.emit.sql import query_sql
from cqc.compiler.functions.registry import SCALAR_FAMILIES
from cqc.compiler.functions.sql_forms import CannotWriteError, Refused
from tests.integration.spark.test_functions import COLUMNS_OF_S, named
from tests.property.random_calls import (
    KINDS,
    STREAM,
    TYPES,
    by_engine,
    random_call,
    random_rows,
    same,
    with_moments,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from tests.support.oracle.scalars import Row, Value

AT_ONCE = 40
ALONE = 2  # rows without a value that are asked about one by one
DECIMALS = (
    "CAST(little_1 AS DECIMAL(12, 2))",
    "CAST(real_1 AS DECIMAL(20, 5))",
    "CAST(whole_2 AS DECIMAL(38, 10))",
    "2.5BD",
    "CAST(text_1 AS DECIMAL(10, 3))",
)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--calls", type=int, default=30, help="of each function")
    options.add_argument("--rows", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument(
        "--only", default="", help="functions, separated by commas; `operators` for these"
    )
    given = options.parse_args()
    random = Random(given.seed)
    rows = random_rows(random, given.rows, more_letters="ßΣσİ")
    calls = list(
        dict.fromkeys(all_calls(random, given.calls, {*filter(None, given.only.split(","))}))
    )
    judge = Judge(session(), rows)
    began = time.monotonic()
    for at in range(0, len(calls), AT_ONCE):
        judge.compare(calls[at : at + AT_ONCE])
        shown = f"{at + AT_ONCE} of {len(calls)} calls, {judge.values} values, {judge.alone} asked alone"
        print(f"{shown}, {len(judge.wrong)} wrong, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{judge.values} values of {len(calls)} calls, {len(judge.wrong)} calls differ")


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    for name, value in (
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.ansi.enabled", "true"),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.driver.host", "127.0.0.1"),
        ("spark.sql.shuffle.partitions", "1"),
    ):
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def all_calls(random: Random, count: int, only: set[str]) -> Iterator[str]:
    """Calls of all functions, operators and casts."""
    for entry in itertools.chain(*SCALAR_FAMILIES.values()):
        if isinstance(entry.spark, Refused) or (only and entry.name not in only):
            continue
        for _ in range(count):
            yield random_call(random, entry)
    if only and "operators" not in only:
        return
    columns = [f"{kind}_{number}" for kind in KINDS for number in (1, 2)]
    numbers = [*(each for each in columns if TYPES[each[:-2]].is_numeric), *DECIMALS]
    for _ in range(count * 12):
        one, other = random.choice(numbers), random.choice(numbers)
        yield f"{one} {random.choice('+-*/%')} {other}"
        yield f"-({one})"
        name = random.choice(("round", "bround", "floor", "ceil"))
        yield f"{name}({random.choice(DECIMALS)}, {random.randrange(-4, 6)})"
        name = random.choice(("mod", "pmod", "greatest", "least", "coalesce", "nullif"))
        yield f"{name}({random.choice(DECIMALS)}, {random.choice([*DECIMALS, 'little_2'])})"
        yield f"{random.choice(('abs', 'sign', 'floor', 'ceil'))}({random.choice(DECIMALS)})"
        kind = random.choice(KINDS)
        sign = random.choice(("=", "<", "<=", ">", ">=", "<>", "<=>", "=="))
        yield f"{kind}_1 {sign} {kind}_2"
        yield f"{random.choice(numbers)} {sign} {random.choice(numbers)}"
        yield f"moment_1 {random.choice('+-')} INTERVAL {random.randrange(1, 500)} {random.choice(('MONTH', 'DAY', 'YEAR', 'HOUR', 'SECOND', 'WEEK'))}"
    targets = (
        "BIGINT",
        "INT",
        "DOUBLE",
        "STRING",
        "BOOLEAN",
        "TIMESTAMP",
        "DATE",
        "DECIMAL(12, 3)",
        "DECIMAL(38, 18)",
        "BINARY",
    )
    for column, target in itertools.product([*columns, *DECIMALS], targets):
        yield f"CAST({column} AS {target})"
        yield f"TRY_CAST({column} AS {target})"


class Judge:
    """Compares the engine with Spark over the same rows."""

    def __init__(self, spark: SparkSession, rows: list[Row]) -> None:
        self.spark = spark
        self.rows = rows
        self.values = 0
        self.alone = 0
        self.wrong: list[str] = []
        schema = ", ".join(f"{name} {type_.value}" for name, type_ in COLUMNS_OF_S)
        typed = with_moments([type_ for _, type_ in COLUMNS_OF_S], rows)
        spark.createDataFrame(typed, schema).cache().createOrReplaceTempView("s")

    def compare(self, calls: Sequence[str]) -> None:
        """Ask both about these calls; where Spark stops, about halves of them."""
        known = [call for call in calls if self._sql(call) is not None]
        if not known:
            return
        engine = by_engine(cqc.compile(f"{STREAM} {select_of(known)};"), self.rows)
        self._compare(known, [list(each) for each in zip(*engine, strict=True)][1:])

    def _compare(self, calls: Sequence[str], engine: list[list[Value]]) -> None:
        try:
            found = self._ask(select_of(calls))
        except Exception:  # Spark's own, of many kinds
            if len(calls) == 1:
                self._guarded(calls[0], engine[0])
                return
            half = len(calls) // 2
            self._compare(calls[:half], engine[:half])
            self._compare(calls[half:], engine[half:])
            return
        for call, values, rights in zip(calls, engine, found, strict=True):
            self._judge(call, list(zip(range(len(values)), values, rights, strict=True)))

    def _guarded(self, call: str, values: list[Value]) -> None:
        """Ask about rows with a value together, about a few of the others alone."""
        have = [at for at, value in enumerate(values) if value is not None]
        lack = [at for at, value in enumerate(values) if value is None]
        if have:
            self._together(call, values, have)
        for at in lack[:ALONE]:
            self.alone += 1
            try:
                (found,) = self._ask(select_of([call]), [at])
            except Exception:  # as above
                continue
            self._judge(call, [(at, None, found[0])])

    def _together(self, call: str, values: list[Value], places: list[int]) -> None:
        """Spark must have values for all of these rows; where it stops, the first row that stops it is told."""
        try:
            (found,) = self._ask(select_of([call]), places)
        except Exception as error:  # as above
            if len(places) == 1:
                used = self._used(call, places[0])
                self._note(
                    f"{call}: {values[places[0]]!r}, Spark stops, with {used}: {str(error)[:120]}"
                )
                return
            half = len(places) // 2
            told = len(self.wrong)
            self._together(call, values, places[:half])
            if len(self.wrong) == told:
                self._together(call, values, places[half:])
            return
        self._judge(
            call, [(at, values[at], right) for at, right in zip(places, found, strict=True)]
        )

    def _used(self, call: str, at: int) -> dict[str, Value]:
        return {name: value for name, value in named(self.rows[at]).items() if name in call}

    def _judge(self, call: str, triples: list[tuple[int, Value, Value]]) -> None:
        self.values += len(triples)
        wrong = [each for each in triples if not same(each[1], each[2])]
        if wrong:
            at, value, right = wrong[0]
            used = self._used(call, at)
            self._note(f"{call}: {value!r}, Spark {right!r}, with {used} ({len(wrong)} rows)")

    def _note(self, text: str) -> None:
        self.wrong.append(text)
        print("DIFFERS", text, flush=True)

    def _sql(self, call: str) -> str | None:
        try:
            return query_sql(cqc.compile(f"{STREAM} {select_of([call])};").queries["q1"], "spark")
        except (cqc.CompileError, CannotWriteError):
            return None

    def _ask(self, select: str, places: Sequence[int] | None = None) -> list[list[Value]]:
        """The answers by call, in the order of the rows."""
        text = query_sql(cqc.compile(f"{STREAM} {select};").queries["q1"], "spark")
        if places is not None:
            keys = ", ".join(str(self.rows[at][0]) for at in places)
            self.spark.sql(f"SELECT * FROM s WHERE ts IN ({keys})").createOrReplaceTempView("some")
            text = text.replace("`s` AS `s`", "`some` AS `s`", 1)
        answer = self.spark.sql(text)
        numbers = answer.selectExpr(
            *(
                f"unix_micros(`{name}`) AS `{name}`"
                if type_ == "timestamp"
                else f"unix_date(`{name}`) AS `{name}`"
                if type_ == "date"
                else f"`{name}`"
                for name, type_ in answer.dtypes
            )
        )
        found = sorted((list(row) for row in numbers.collect()), key=lambda row: row[0])
        return [[plain(value) for value in each] for each in list(zip(*found, strict=True))[1:]]


def plain(value: Any) -> Any:
    """A value of Spark as the engine has it."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return {name: plain(each) for name, each in value.asDict().items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def select_of(calls: Sequence[str]) -> str:
    return f"SELECT ts, {', '.join(f'{call} AS v{at}' for at, call in enumerate(calls))} FROM s"


if __name__ == "__main__":
    main()
