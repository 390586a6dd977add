"""Plain routes answer as the framework does, which only describes them."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service_cases import CYCLE, Database, Now, running
from starlette.testclient import TestClient

from lastswitch.service.gate import Gate

ASKS = st.fixed_dictionaries(
    {"subject": st.sampled_from(["ann", "bob", "cay", "", "x" * 201, "\u200b", 3, None])},
    optional={
        "at": st.sampled_from([0, 1, 5, "noon", -1, 2**60]),
        "allowed": st.lists(st.sampled_from(["a", "b", "nobody"]), max_size=2),
        "plays": st.sampled_from([0, 1, 2]),
        "confirm": st.sampled_from(["now", "later", "never"]),
        "more": st.just(1),
    },
)
REWARDS = st.sampled_from([0.0, 0.5, 1, 2, None, "much", [1.0], [1.0, 0.0]])
KEYS = st.none() | st.sampled_from(["k1", "k2", "k3", "with space", "x" * 201])
KINDS = st.sampled_from(["application/json", "application/json; charset=utf-8", "text/plain"])
#: Which decision: one that was made, by its place, or one that cannot be.
WHICH = st.integers(0, 5) | st.sampled_from(["nobody", "x" * 65])
ASK = st.tuples(st.just("ask"), st.sampled_from(["r", "none", "y" * 65]), ASKS, KEYS, KINDS)
TELL = st.tuples(st.sampled_from(["reward", "confirm", "cancel"]), WHICH, REWARDS)
BATCH = st.tuples(
    st.just("batch"),
    st.sampled_from(["confirm", "cancel", "reward"]),
    st.lists(st.tuples(WHICH, REWARDS), max_size=3),
)


class Side:
    """A service, and the decisions it made, in order: ids are its own."""

    def __init__(self, client):
        self.client, self.made = client, []

    def send(self, step):
        """Send a request; return the answer without what is this service's own."""
        answer = self.client.post(**self._request(*step))
        body = answer.json()
        if step[0] == "ask" and answer.status_code == 201:
            self.made.append(body["id"])
        kind = answer.headers["content-type"]
        return answer.status_code, kind, self._without_ids(body)

    def _request(self, verb, which, *rest):
        if verb == "ask":
            body, key, kind = rest
            headers = {"content-type": kind} | ({} if key is None else {"idempotency-key": key})
            return {"url": f"/v1/rotations/{which}/decisions", "json": body, "headers": headers}
        if verb == "batch":
            ids = [self._id(one) for one, _ in rest[0]]
            paid = [{"id": self._id(one), "reward": reward} for one, reward in rest[0]]
            body = {"rewards": paid} if which == "reward" else {"ids": ids}
            return {"url": f"/v1/decisions/{which}", "json": body}
        body = {"reward": rest[0]} if verb == "reward" else None
        return {"url": f"/v1/decisions/{self._id(which)}/{verb}", "json": body}

    def _id(self, which):
        known = isinstance(which, int) and which < len(self.made)
        return self.made[which] if known else str(which)

    def _without_ids(self, body):
        if isinstance(body, dict):
            return {name: self._without_ids(value) for name, value in body.items()}
        if isinstance(body, list):
            return [self._without_ids(value) for value in body]
        if isinstance(body, str):
            for place, name in enumerate(self.made):
                body = body.replace(name, f"<{place}>")
        return body


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(st.one_of(ASK, TELL, ASK, BATCH), min_size=1, max_size=14))
def test_plain_routes_answer_as_the_framework_would(tmp_path_factory, steps):
    """Statuses, media types and bodies, whatever is asked, in whatever order."""
    folder, now = tmp_path_factory.mktemp("routes"), Now()
    with (
        running(Database(folder / "a.sqlite", "NORMAL"), {"r": CYCLE}, clock=now) as plain,
        running(Database(folder / "b.sqlite", "NORMAL"), {"r": CYCLE}, clock=now) as framed,
    ):
        service, mounted = framed.service, framed.app._app.routes[-1]
        gate = Gate(mounted.app, service.access, service.keys, service.metrics, service.rates)
        sides = Side(plain), Side(TestClient(gate, headers=framed.headers))
        for step in steps:
            assert sides[0].send(step) == sides[1].send(step), step


def test_every_operation_of_the_contract_has_a_plain_route(tmp_path):
    """None is left to the slow way, and what is no operation is refused as before."""
    with running(Database(tmp_path / "a.sqlite", "NORMAL"), {"r": CYCLE}) as client:
        described = client.get("/openapi.json").json()["paths"]
        deciding = {path for path in described if "decisions" in path and "post" in described[path]}
        plain = client.app._app.routes[:-1]
        assert {route.path for route in plain} == deciding
        assert {method for route in plain for method in route.methods} == {"POST"}
        wrong = client.delete("/v1/rotations/r/decisions")
        assert wrong.status_code == 405
        assert wrong.headers["content-type"] == "application/problem+json"
