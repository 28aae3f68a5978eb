"""Documents register functions of their own; no other test may see them."""

from __future__ import annotations

import pytest

from cqc.compiler.functions import registered


@pytest.fixture(autouse=True)
def functions_of_documents_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_registered", dict(registered._registered))
