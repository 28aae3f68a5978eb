"""Outcomes as the XML that build servers read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from cqc.runtime.cases.side_by_side import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.cases.run_case import Outcome

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(outcomes: Sequence[Outcome]) -> bytes:
    """One test suite for each file, one test case for each case."""
    root = ET.Element("testsuites", _counts(outcomes))
    files: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        files.setdefault(str(outcome.case.path), []).append(outcome)
    for name, some in files.items():
        suite = ET.SubElement(root, "testsuite", {"name": name, **_counts(some)})
        for outcome in some:
            case = ET.SubElement(
                suite,
                "testcase",
                {
                    "classname": name,
                    "name": _clean(outcome.case.title),
                    "file": name,
                    "line": str(outcome.case.line),
                    "time": f"{outcome.seconds:.3f}",
                },
            )
            if not outcome.passed:
                message = _clean(outcome.failures[0].what.splitlines()[0])
                failure = ET.SubElement(case, "failure", {"message": message})
                failure.text = _clean(describe(outcome))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(sum(not outcome.passed for outcome in outcomes)),
        "errors": "0",
        "skipped": "0",
        "time": f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    }


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
