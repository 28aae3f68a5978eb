"""Writes building.cq and data/building: an hour of a building's sensors and three hundred comfort rules.

Run `python examples/queries/make_building.py`; the seed is fixed, so the files come out the same.
"""

from __future__ import annotations

import csv
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
START = datetime(2024, 1, 8, 9, tzinfo=UTC)
ROOMS = [f"{floor}.{room:02d}" for floor in range(1, 6) for room in range(1, 11)]

HEADER = """\
-- A building's light, temperature and sound sensors, and what the people in its rooms asked for.
-- Made, with its data, by make_building.py.

CREATE STREAM sensors (ts TIMESTAMP, room STRING, light DOUBLE, temperature DOUBLE, sound DOUBLE,
                       occupied BOOLEAN, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
  WITH (format = 'csv', path = 'data/building/');
"""


def main() -> None:
    """Write the program and its data."""
    chance = random.Random(3)
    rules = [rule(number, chance) for number in range(1, 301)]
    (HERE / "building.cq").write_text(HEADER + "\n" + "\n\n".join(rules) + "\n", encoding="utf-8")
    with (HERE / "data" / "building" / "sensors.csv").open(
        "w", newline="", encoding="utf-8"
    ) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ts", "room", "light", "temperature", "sound", "occupied"])
        for second in range(0, 3600, 60):
            for room in ROOMS:
                writer.writerow(reading(second, room, chance))


def reading(second: int, room: str, chance: random.Random) -> list[object]:
    """One line of the sensor file; now and then a sensor is silent, which is an empty field."""
    instant = START + timedelta(seconds=second + chance.randrange(4))
    sound = "" if chance.random() < 0.02 else round(chance.gauss(42, 8), 1)
    occupied = "true" if chance.random() < 0.6 else "false"
    light = round(chance.gauss(400, 90), 1)
    temperature = round(chance.gauss(21.5, 1.2), 1)
    return [instant.strftime("%Y-%m-%dT%H:%M:%SZ"), room, light, temperature, sound, occupied]


def rule(number: int, chance: random.Random) -> str:
    """One comfort rule."""
    room = chance.choice(ROOMS)
    kind = number % 5
    if kind == 0:
        condition = f"room = '{room}' AND temperature > {chance.choice([23, 23.5, 24])}"
    elif kind == 1:
        condition = f"room = '{room}' AND occupied AND light < {chance.choice([200, 250, 300])}"
    elif kind == 2:
        condition = f"room LIKE '{room[0]}.%' AND sound > {chance.choice([58, 60, 62])}"
    elif kind == 3:
        condition = f"room IN ('{room}', '{chance.choice(ROOMS)}') AND sound IS NULL"
    else:
        low = chance.choice([18.5, 19, 19.5])
        condition = f"room = '{room}' AND (temperature < {low} OR (NOT occupied AND light > 550))"
    return f"CREATE QUERY rule_{number:03d} AS\nSELECT room, light, temperature, sound FROM sensors WHERE {condition};"


if __name__ == "__main__":
    main()
