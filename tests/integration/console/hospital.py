"""A service worth looking at: a hospital with several hundred rules, and rows of the last minutes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.integration.serve.running import Running

_STREAMS = """
CREATE STREAM vitals (ts TIMESTAMP, patient BIGINT, ward STRING, pulse DOUBLE, pressure DOUBLE, saturation DOUBLE);
CREATE STREAM labs (ts TIMESTAMP, patient BIGINT, test STRING, value DOUBLE);
CREATE STREAM doses (ts TIMESTAMP, patient BIGINT, drug STRING, milligrams DOUBLE);
CREATE QUERY sepsis AS SELECT vitals.patient, vitals.pulse, labs.value, doses.drug FROM vitals, labs, doses
WHERE vitals.patient = labs.patient AND labs.patient = doses.patient AND labs.test = 'Lactate' AND labs.value > 4
AND vitals.pulse > 110 MAXWINDOW 60 SEC;
CREATE QUERY ward_load AS SELECT ward, COUNT(*) AS readings, AVG(pulse) AS pulse FROM vitals GROUP BY ward
BEGIN NOW - 10 MIN END NOW;
CREATE QUERY each_minute AS SELECT COUNT(*) AS readings, MAX(pulse) AS pulse FROM vitals BEGIN NOW - 1 MIN END NOW EVERY 30 SEC;
"""
_TESTS = ("potassium", "sodium", "Lactate", "creatinine")
_DRUGS = ("noradrenaline", "propofol", "heparin")


def program(rules: int) -> str:
    """Three queries that join or ask, and so many rules."""
    chance = random.Random(17)
    found = [_STREAMS]
    for n in range(rules):
        match n % 6:
            case 0 | 1:
                where = f"pulse > {chance.randint(110, 150)} AND ward = '{_ward(chance)}'"
                found.append(
                    f"CREATE QUERY pulse_{n} AS SELECT patient, pulse FROM vitals WHERE {where};"
                )
            case 2:
                found.append(
                    f"CREATE QUERY pressure_{n} AS SELECT patient, pressure FROM vitals WHERE pressure > {chance.randint(140, 180)};"
                )
            case 3:
                found.append(
                    f"CREATE QUERY saturation_{n} AS SELECT patient, saturation FROM vitals WHERE saturation < {chance.randint(86, 92)};"
                )
            case 4:
                where = f"test = '{chance.choice(_TESTS)}' AND value > {chance.uniform(5, 9):.1f}"
                found.append(
                    f"CREATE QUERY lab_{n} AS SELECT patient, test, value FROM labs WHERE {where};"
                )
            case _:
                found.append(
                    f"CREATE QUERY after_dose_{n} AS SELECT doses.patient, doses.drug, vitals.pulse FROM doses, vitals "
                    f"WHERE doses.patient = vitals.patient AND vitals.pulse > {chance.randint(115, 140)} "
                    "WINDOW vitals.ts > doses.ts MAXWINDOW 30 SEC;"
                )
    return "\n".join(found)


def _ward(chance: random.Random) -> str:
    return chance.choice("ABCD") + str(chance.randint(1, 4))


def fill(service: Running, minutes: int = 4, seed: int = 3) -> None:
    """The rows of the last minutes, a micro-batch for each few seconds."""
    chance = random.Random(seed)
    now = datetime.now(UTC)
    for step in range(minutes * 12):
        at = now - timedelta(minutes=minutes) + timedelta(seconds=5 * step)
        service.push("vitals", *(_vitals(chance, at) for _ in range(60)))
        service.push("labs", *(_lab(chance, at) for _ in range(8)))
        service.push(
            "doses",
            {
                "ts": _text(at),
                "patient": chance.randint(1, 40),
                "drug": chance.choice(_DRUGS),
                "milligrams": 5.0,
            },
        )
    service.push("labs", {"ts": "yesterday", "patient": 1, "test": "sodium", "value": 1.0})


def _vitals(chance: random.Random, at: datetime) -> dict[str, Any]:
    return {
        "ts": _text(at + timedelta(milliseconds=chance.randint(0, 4_000))),
        "patient": chance.randint(1, 40),
        "ward": _ward(chance),
        "pulse": round(chance.gauss(88, 16), 1),
        "pressure": round(chance.gauss(125, 15), 1),
        "saturation": round(min(chance.gauss(95, 2), 100), 1),
    }


def _lab(chance: random.Random, at: datetime) -> dict[str, Any]:
    value = round(abs(chance.gauss(4, 1.6)), 2)
    return {
        "ts": _text(at),
        "patient": chance.randint(1, 40),
        "test": chance.choice(_TESTS),
        "value": value,
    }


def _text(at: datetime) -> str:
    return at.isoformat()
