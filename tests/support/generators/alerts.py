"""Random alerts over a stream or over views of it, with rows for them: late within the declared delay, with ties and NULLs."""

from __future__ import annotations

from random import Random

from tests.support.generators.windows import WindowCase, random_rows

DECLARED = (
    "CREATE STREAM s (ts {time}, k STRING, j BIGINT, x BIGINT, y DOUBLE, WATERMARK FOR ts AS ts - {delay} SECONDS);\n"
    "CREATE VIEW kept AS SELECT * FROM s WHERE j < 2;\n"
    "CREATE VIEW counted AS SELECT k, COUNT(*) AS j, MAX(x) AS x, MIN(y) AS y, window_end FROM TUMBLE(s, 4 SEC)"
    " GROUP BY window_end, k;\n"
)
CONDITIONS = ["x > 0", "x > 2", "x > 0 AND k IS NOT NULL", "y < 3 OR j = 1", "j = 1", "k = 'a'"]
CLEARS = ["x < 0", "x <= 0", "y IS NULL", "j = 0 OR x > 3", "x > 0"]
KEYS = ["k", "j", "k, j", "upper(k) AS name", "y", "x % 2 AS odd, k"]
OUTPUTS = ["k, x", "x", "k, j, x, y", "x + j AS total, k", "y, k", "1 AS one"]
TEXTS = ["summary = 'at {{{}}}'", "note = 'plain {{{{}}}}'"]


def random_alert_case(seed: int) -> WindowCase:
    rng = Random(seed)
    is_number = rng.random() < 0.5
    delay = rng.choice([0, 0, 2, 5])
    declared = DECLARED.format(time="BIGINT" if is_number else "TIMESTAMP", delay=delay)
    alerts = [f"CREATE ALERT a{at} {random_alert(rng)};\n" for at in range(rng.randint(1, 6))]
    rows = random_rows(rng, delay, is_number=is_number)
    return WindowCase(declared + "".join(alerts), rows)


def random_alert(rng: Random) -> str:
    """Everything after the name."""
    clauses = [
        f"WHERE {rng.choice(CONDITIONS)}" if rng.random() < 0.9 else "",
        f"PER {rng.choice(KEYS)}" if rng.random() < 0.8 else "",
        f"FOR {rng.choice(['1 SEC', '2 SEC', '5 SEC', '500 MS'])}" if rng.random() < 0.4 else "",
        f"CLEAR WHEN {rng.choice(CLEARS)}" if rng.random() < 0.4 else "",
        f"KEEP FIRING {rng.choice([1, 3])} SEC" if rng.random() < 0.4 else "",
        f"ONCE EVERY {rng.choice([2, 6, 30])} SEC" if rng.random() < 0.4 else "",
        f"NO DATA AFTER {rng.choice(['2 SEC', '5 SEC', '1500 MS'])}" if rng.random() < 0.5 else "",
    ]
    rng.shuffle(clauses)
    severity = f"SEVERITY '{rng.choice(['low', 'high'])}' " if rng.random() < 0.5 else ""
    stream = rng.choice(["s", "s", "s", "kept", "counted", "(SELECT ts, k, j, x, y FROM s) AS q"])
    outputs = rng.choice(OUTPUTS)
    texts = ["pending = true"] if rng.random() < 0.3 else []
    if rng.random() < 0.3:
        first = outputs.split(",")[0].split(" AS ")[-1]
        texts.append(rng.choice(TEXTS).format(first))
    ending = f" WITH ({', '.join(texts)})" if texts else ""
    return f"{severity}AS SELECT {outputs} FROM {stream} {' '.join(clauses)}{ending}"
