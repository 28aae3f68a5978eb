"""Counters as Prometheus reads them."""

from __future__ import annotations

import re

import cqc
from cqc.runtime.serve.http.exposition import Histogram, engine_lines, metric, text_of
from cqc.runtime.serve.service import Service

LINE = re.compile(r'# (HELP|TYPE) cqc_\w+ .+|cqc_\w+(\{\w+="(\\.|[^"\\\n])*"\})? [-+.0-9eInf]+')


def test_every_line_has_the_form_and_every_metric_its_type() -> None:
    service = Service(
        cqc.compile("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s")
    )
    page = text_of(engine_lines(service))
    assert page.endswith("\n")
    lines = page.splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    named = {re.split(r"[ {]", line)[0] for line in lines if not line.startswith("#")}
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert named <= typed
    assert 'cqc_rows_read_total{stream="s"} 0' in lines
    assert 'cqc_queries{kind="push"} 1' in lines
    service.close()


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Histogram()
    for seconds in (0.001, 0.002, 100.0):
        histogram.observe(seconds)
    lines = histogram.lines("t")
    assert lines[0] == 't_bucket{le="0.001"} 1'
    assert lines[1] == 't_bucket{le="0.0025"} 2'
    assert lines[-3:] == ['t_bucket{le="+Inf"} 3', "t_sum 100.003000", "t_count 3"]


def test_a_metric_has_one_value_or_one_for_each_label() -> None:
    assert metric("m", "gauge", "Help.", 5) == ["# HELP m Help.", "# TYPE m gauge", "m 5"]
    assert metric("m", "gauge", "Help.", {'{a="1"}': 5})[2:] == ['m{a="1"} 5']
    assert metric("m", "gauge", "Help.", {})[2:] == []
