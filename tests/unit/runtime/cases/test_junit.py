import xml.etree.ElementTree as ET

from cqc.runtime.cases.case_file import LanguageCase
from cqc.runtime.cases.junit import junit_xml
from cqc.runtime.cases.run_case import Failure, Outcome


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    case = LanguageCase("a.cqt", "bell \x07 <&>", 1, "", "", ())
    root = ET.fromstring(junit_xml([Outcome(case, [Failure(None, "\x00 came")])]))
    (found,) = root.iter("testcase")
    assert found.attrib["name"] == "bell � <&>"
    assert root.attrib["failures"] == "1"
