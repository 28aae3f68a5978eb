"""`cqc init DIR`: a small project that runs, with a program, data, a test and a README."""

from __future__ import annotations

from pathlib import Path

import click

PROGRAM = """\
-- Temperatures of rooms and doors that open. Rows come from data/; --bind NAME=PATH reads others.
CREATE STREAM sensors (ts TIMESTAMP, room STRING, temperature DOUBLE,
                       WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
  WITH (path = 'data/sensors.csv');

CREATE STREAM doors (ts TIMESTAMP, room STRING, door STRING) WITH (path = 'data/doors.csv');

-- A room is too hot.
CREATE QUERY hot AS
SELECT room, temperature
FROM   sensors
WHERE  temperature > 26;

-- A door opens in a room that was too hot in the ten seconds before.
CREATE QUERY hot_and_open AS
SELECT s.room, s.temperature, d.door
FROM   sensors s, doors d
WHERE  s.room = d.room AND s.temperature > 26
WINDOW s.ts <= d.ts
MAXWINDOW 10 SECONDS;

-- The mean of each room, once a minute.
CREATE QUERY mean_temperature AS
SELECT room, AVG(temperature) AS mean
FROM   sensors
BEGIN  AFTER NOW - 1 MINUTE END NOW
EVERY  1 MINUTE
GROUP BY room;
"""

SENSORS = """\
ts,room,temperature
2024-05-01T12:00:00Z,kitchen,22.5
2024-05-01T12:00:10Z,server room,27.5
2024-05-01T12:00:20Z,kitchen,23.5
2024-05-01T12:00:30Z,server room,28.5
2024-05-01T12:01:00Z,kitchen,23.0
"""

DOORS = """\
ts,room,door
2024-05-01T12:00:15Z,server room,north
2024-05-01T12:00:55Z,server room,north
"""

TEST = """\
# What the program must answer. Run it with: cqc test tests
# Rows are values with | between them; `results` begin with the result time.
program ../rooms.cq

=== a hot room is told, a warm one is not
--- input sensors
2024-05-01T12:00:00Z | kitchen | 26
2024-05-01T12:00:01Z | server room | 26.5
--- results hot
2024-05-01T12:00:01Z | server room | 26.5

=== a door counts up to ten seconds after the heat
--- input sensors
2024-05-01T12:00:00Z | server room | 27
--- input doors
2024-05-01T12:00:10Z | server room | north
2024-05-01T12:00:11Z | server room | south
--- results hot_and_open
2024-05-01T12:00:10Z | server room | 27 | north

=== a minute has one mean for each room
--- input sensors (ts, room, temperature)
2024-05-01T12:00:10Z | kitchen | 20
2024-05-01T12:00:20Z | kitchen | 22
2024-05-01T12:01:10Z | kitchen | 30
--- results mean_temperature
2024-05-01T12:01:00Z | kitchen | 21
"""

README = """\
# Rooms

A first project for cqc. `rooms.cq` declares two streams and three queries, `data/` has their rows, `tests/` says what must
come out.

```
cqc check rooms.cq                    # is the program right?
cqc run rooms.cq --engine local       # run it over data/, results on standard output
cqc test tests                        # does it still answer what it should?
cqc compile rooms.cq                  # what is shared by which queries
cqc backtest rooms.cq                 # what would have fired, by query and day
cqc run rooms.cq                      # the same on Spark
```

Change a condition in `rooms.cq`, run the tests, and see expected and got side by side. When the new answer is right,
`cqc test tests --update` writes it down.
"""

FILES = {
    "rooms.cq": PROGRAM,
    "data/sensors.csv": SENSORS,
    "data/doors.csv": DOORS,
    "tests/rooms.cqt": TEST,
    "README.md": README,
}


@click.command("init")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def init_command(folder: Path) -> None:
    """Make a small project in DIR: a program, data, a test and a README that runs.

    Nothing is overwritten: a file that is there already is wrong usage.
    """
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise click.UsageError(f"{folder / taken[0]} is there already; nothing was written")
    try:
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    for name in FILES:
        click.echo(folder / name)
    click.echo(f"\nTry: cd {folder} && cqc run rooms.cq --engine local && cqc test tests")
