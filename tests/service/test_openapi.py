"""What the contract says of itself, and what happens to those who take it at its word."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service_cases import CYCLE, ask, running


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Give a client of a service."""
    from service_cases import Database

    where = tmp_path_factory.mktemp("fuzzed") / "a.sqlite"
    with running(Database(where, "NORMAL"), {"r": CYCLE}) as found:
        ask(found)
        yield found


def test_everything_is_described(client):
    """Every operation has a summary, an example where it takes or gives something, and problems."""
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    schemas = document["components"]["schemas"]
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            assert operation["summary"], path
            assert operation["description"], path
            if path.startswith("/v1/"):
                assert {"401", "403", "422", "503"} <= set(operation["responses"]), path
            for media in operation.get("requestBody", {}).get("content", {}).values():
                assert "example" in str(media), (verb, path)
    for name in ("DecisionView", "ProblemView", "RotationView", "SubjectView"):
        examples = ["example" in str(entry) for entry in schemas[name]["properties"].values()]
        assert any(examples), name


def test_nobody_breaks_it(client):
    """Whatever the contract allows, and much it does not: an answer, and never our fault."""
    document = client.get("/openapi.json").json()
    for path in list(document["paths"]):
        if path.endswith("/events"):
            del document["paths"][path]  # it does not end by itself
    schema = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 20

    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def sent(data):
        operation = data.draw(st.sampled_from(operations))
        mode = data.draw(st.sampled_from(list(schemathesis.GenerationMode)))
        case = data.draw(operation.as_strategy(generation_mode=mode))
        parts = case.as_transport_kwargs(base_url="http://testserver")
        headers = {**parts.get("headers", {}), "authorization": f"Bearer {client.secret}"}
        answer = client.request(
            parts["method"],
            parts["url"],
            params=parts.get("params"),
            json=parts.get("json"),
            headers={name: value.encode("latin-1") for name, value in headers.items()},
        )
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == answer.status_code

    sent()
