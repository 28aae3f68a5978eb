"""Writes data/icu: one minute of vital signs of six patients, two of whom need help.

Run `python examples/queries/make_icu.py`; the seed is fixed, so the files come out the same.
"""

from __future__ import annotations

import csv
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "icu"
START = datetime(2024, 1, 1, tzinfo=UTC)
PATIENTS = {
    1: ("A1", "Ines"),
    2: ("A2", "Ines"),
    3: ("B1", "Omar"),
    4: ("B2", "Omar"),
    5: ("C1", "Lucy"),
    6: ("C2", "Lucy"),
}


def main() -> None:
    """Write the five files."""
    chance = random.Random(4)
    blood, temperature, heart, kidney = [], [], [], []
    for second in range(60):
        for patient in PATIENTS:
            shock = patient == 3 and 20 <= second < 30
            fever = patient == 5 and second >= 35
            pressure = round(chance.gauss(78 if shock else 99, 3), 1)
            blood.append(
                [
                    at(second, chance),
                    patient,
                    pressure,
                    round(chance.gauss(37, 0.2), 1),
                    f"blood of {patient}",
                ]
            )
            fluct = round(chance.gauss(40.2 if fever else 36.9, 0.2), 1)
            incr, vib = round(chance.uniform(0, 2), 1), round(chance.uniform(0, 2), 1)
            beats = int(chance.gauss(140 if shock else 78, 4))
            if patient == 6 and second in (7, 47):
                fluct, incr = (51.5, incr) if second == 7 else (103.0, 2.5)
            if patient == 6 and second == 45:
                vib = 2.5
            if patient == 2 and second == 9:
                beats, vib = 52, 37.4
            temperature.append([at(second, chance), patient, fluct, incr])
            heart.append([at(second, chance), patient, beats, vib, f"heart of {patient}"])
            if second % 5 == 0:
                fluid = chance.gauss(6 if fever else 60, 2)
                kidney.append([at(second, chance), patient, round(fluid, 1)])
    write("blood", ["ts", "patient", "pressure", "temp", "alert"], blood)
    write("temperature", ["ts", "patient", "fluct", "incr"], temperature)
    write("heart", ["ts", "patient", "beatrate", "vib", "alert"], heart)
    write("kidney", ["ts", "patient", "fluid"], kidney)
    ward = [[patient, bed, nurse] for patient, (bed, nurse) in PATIENTS.items()]
    write("ward", ["patient", "bed", "nurse"], ward)


def at(second: int, chance: random.Random) -> str:
    """An instant within the second, as ISO text."""
    instant = START + timedelta(seconds=second, milliseconds=chance.randrange(1000))
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def write(name: str, header: list[str], rows: list[list[object]]) -> None:
    """One CSV file, header first."""
    with (FOLDER / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
