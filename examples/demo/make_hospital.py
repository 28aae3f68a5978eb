"""Makes the folder that the demo runs: the program, a thousand rules, and two minutes of vital signs of 250 patients.

`python examples/demo/make_hospital.py FOLDER`; the seed is fixed, so the files come out the same.
"""

from __future__ import annotations

import csv
import random
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

PATIENTS, SECONDS = 250, 120
START = datetime(2024, 1, 1, 6, tzinfo=UTC)
NURSES = ("Ines", "Omar", "Lucy", "Piotr", "Amara")
RULE = "CREATE QUERY {name} AS SELECT patient, {value} FROM {stream} WHERE patient = {patient} AND {value} {limit};\n"


def main(folder: Path) -> None:
    """Write program, rules and data."""
    chance = random.Random(4)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path(__file__).with_name("hospital.cq"), folder / "hospital.cq")
    (folder / "rules.cq").write_text("".join(rules(chance)), encoding="utf-8")
    write(folder, "ward", ["patient", "room", "nurse"], [ward_of(each) for each in range(PATIENTS)])
    for name, column, rows in readings(chance):
        write(folder, name, ["ts", "patient", column], rows)


def rules(chance: random.Random) -> list[str]:
    """Four limits for each patient, each patient's own."""
    made = ["-- The limits that doctors set: four for each patient.\n"]
    for patient in range(PATIENTS):
        limits = {
            "low_pressure": ("blood", "pressure", f"< {chance.uniform(70, 80):.1f}"),
            "fever": ("temperature", "celsius", f"> {chance.uniform(39.4, 41):.1f}"),
            "fast_heart": ("heart", "beats", f"> {chance.randrange(125, 150)}"),
            "little_fluid": ("kidney", "fluid", f"< {chance.uniform(4, 10):.1f}"),
        }
        for kind, (stream, value, limit) in limits.items():
            made.append(
                RULE.format(
                    name=f"{kind}_{patient}",
                    stream=stream,
                    value=value,
                    patient=patient,
                    limit=limit,
                )
            )
    return made


def ward_of(patient: int) -> list[object]:
    """Two patients share a room."""
    return [patient, f"{'ABCDE'[patient // 50]}{patient % 50 // 2 + 1}", NURSES[patient // 50]]


def readings(chance: random.Random) -> list[tuple[str, str, list[list[object]]]]:
    """Rows by stream; a few patients need help for a while."""
    blood: list[list[object]] = []
    temperature: list[list[object]] = []
    heart: list[list[object]] = []
    kidney: list[list[object]] = []
    for second in range(SECONDS):
        for patient in range(PATIENTS):
            shock = patient % 83 == 17 and second % 60 in range(20, 26)
            fever = patient // 2 in (11, 57) and second >= 80
            blood.append(
                [at(second, chance), patient, round(chance.gauss(74 if shock else 101, 3), 1)]
            )
            temperature.append(
                [at(second, chance), patient, round(chance.gauss(40.1 if fever else 36.9, 0.2), 1)]
            )
            beats = 142 if shock else 110 if fever else 78
            heart.append([at(second, chance), patient, int(chance.gauss(beats, 4))])
            if second % 5 == 0:
                fluid = chance.gauss(5 if fever else 60, 2)
                kidney.append([at(second, chance), patient, round(fluid, 1)])
    return [
        ("blood", "pressure", blood),
        ("temperature", "celsius", temperature),
        ("heart", "beats", heart),
        ("kidney", "fluid", kidney),
    ]


def at(second: int, chance: random.Random) -> str:
    """An instant within the second, as ISO text."""
    instant = START + timedelta(seconds=second, milliseconds=chance.randrange(1000))
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def write(folder: Path, name: str, header: list[str], rows: list[list[object]]) -> None:
    """One CSV file, header first."""
    with (folder / "data" / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
