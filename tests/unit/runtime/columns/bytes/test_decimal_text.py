"""DECIMAL as text: every digit, and no exponent."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.sortable import plain_number
from cqc.runtime.columns.bytes.decimal_text import decimal_texts


@pytest.mark.parametrize("scale", [0, 1, 4, 18, 30, 38])
def test_digits_are_written_out(scale: int) -> None:
    digits = [0, 1, -1, 10, -150, 99999, 2**63 - 1, -(2**63)]
    assert decimal_texts(np.array(digits), scale).to_pylist() == [
        plain_number(each, scale) for each in digits
    ]
