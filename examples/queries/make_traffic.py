"""Writes data/traffic: ten minutes of vehicles passing eight freeway stations, a jam and a wrong-way driver.

Run `python examples/queries/make_traffic.py`; the seed is fixed, so the file comes out the same.
"""

from __future__ import annotations

import csv
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "traffic"
START = datetime(2024, 1, 1, 8, tzinfo=UTC)


def main() -> None:
    """Write one CSV file in arrival order, some vehicles reported up to three seconds late."""
    chance = random.Random(7)
    rows = []
    for station in range(1, 9):
        millisecond = 0
        while (millisecond := millisecond + int(chance.expovariate(1 / 1500)) + 1) < 600_000:
            jammed = station in (4, 5) and 230_000 < millisecond < 360_000
            speed = chance.gauss(8 if jammed else 105, 3 if jammed else 12)
            length = chance.choice([4.2, 4.5, 4.8, 5.1, 14.0, 18.5])
            rows.append(
                (millisecond, station, chance.randrange(1, 4), round(abs(speed), 1), length)
            )
    rows.append((412_345, 7, 1, -88.0, 4.5))
    rows.sort(key=lambda row: row[0] + chance.randrange(3000))
    with (FOLDER / "vehicles.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ts", "station", "lane", "speed", "length"])
        for millisecond, *rest in rows:
            instant = START + timedelta(milliseconds=millisecond)
            writer.writerow([instant.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", *rest])


if __name__ == "__main__":
    main()
