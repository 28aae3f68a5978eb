"""The dashboard in `examples/grafana` asks for metrics that there are."""

import json
import re
from pathlib import Path

from tests.integration.serve.running import running

DASHBOARD = Path(__file__).parents[3] / "examples" / "grafana" / "cqc.json"


def test_every_metric_of_the_dashboard_is_told() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"cqc_\w+", target["expr"])
    }
    assert len(asked) > 15
    with running("CREATE STREAM s (ts TIMESTAMP, k BIGINT); SELECT k FROM s") as service:
        service.push("s", {"ts": "2024-01-01T00:00:00Z", "k": 1})
        text = service.client.get("/metrics").text
    told = set(re.findall(r"^(cqc_\w+)", text, re.MULTILINE))
    assert asked <= told
    assert 'cqc_top_query_results{query="q1"} 1' in text
    assert re.search(r'cqc_watermark_lag_seconds\{stream="s"\} \d{7,}', text)
