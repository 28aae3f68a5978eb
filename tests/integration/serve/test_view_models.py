"""What the console asks for has every field that the OpenAPI document names, and no other."""

from cqc.runtime.serve.http import view_models
from tests.integration.serve.running import running
from tests.integration.serve.test_models import check


def test_answers_have_the_fields_of_their_models() -> None:
    with running() as service:
        service.push("s", {"ts": 1, "k": 1, "x": 11.0})
        client = service.client
        check(view_models.Overview, client.get("/overview"))
        check(view_models.LiveGraphInfo, client.get("/graph"))
        check(view_models.Schema, client.get("/schema"))
        text = {"text": "SELECT k FROM s"}
        check(view_models.Checked, client.post("/check", json=text))
        check(view_models.Checked, client.post("/check", json={"text": "SELECT"}))
        check(view_models.Previewed, client.post("/preview", json=text))
