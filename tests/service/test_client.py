"""The client: a policy behind HTTP."""

import random
from functools import partial

import httpx2
import pytest
from service_cases import CYCLE, LEARNER, Server, running

import lastswitch as ls
from lastswitch._utils.random import stream
from lastswitch.errors import ServiceError
from lastswitch.service.database import Database
from lastswitch.service.rotations import put_rotation


class Flaky(httpx2.BaseTransport):
    """A wire that loses requests, loses answers, and delivers twice."""

    def __init__(self, client, seed):
        self.client, self.rng, self.lost = client, random.Random(seed), 0

    def handle_request(self, request):
        """Pass a request on, more or less."""
        send = partial(
            self.client.request,
            request.method,
            request.url.raw_path.decode(),
            content=request.read(),
            headers=dict(request.headers) | {"host": "testserver"},
        )
        luck = self.rng.random()
        if luck < 0.15:
            self.lost += 1
            raise httpx2.ConnectError("lost on the way there")
        answer = send()
        if luck < 0.3:
            self.lost += 1
            raise httpx2.ReadTimeout("lost on the way back")
        if luck < 0.4:
            answer = send()
        return httpx2.Response(
            answer.status_code, content=answer.content, headers={"content-type": "application/json"}
        )


@pytest.fixture
def wire(database):
    """Give a client of this library over a wire that loses a third of everything."""
    with running(database, {"r": CYCLE, "l": LEARNER}) as http:
        transport = Flaky(http, 1)

        def made(rotation):
            return ls.Client(
                "http://testserver", http.secret, rotation, transport=transport, tries=30
            )

        yield made, transport, http


def test_it_is_asked_and_told_like_a_policy(wire, monkeypatch):
    """Pulls have numbers of arms; offers are confirmed or cancelled; retries change nothing."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    made, transport, http = wire
    client = made("r")
    assert client.arms == ("a", "b", "c")
    pulls = [client.ask("ann") for _ in range(8)]
    assert [pull.arm for pull in pulls] == [0, 1, 1, 2] * 2
    assert [pull.tau for pull in pulls[:4]] == [1, 2, -1, 4]
    for pull in pulls:
        client.tell(pull.id, 1.0)
    offer = client.ask("bob", confirm=False)
    client.cancel(offer.id)
    offer = client.ask("bob", confirm=False)
    client.confirm(offer.id)
    client.tell(offer.id, None)
    assert client.ask(7, allowed=[False, True, False]).arm == 1
    assert transport.lost > 3
    assert http.get("/v1/rotations/r/subjects/ann").json()["next"] == 8
    with pytest.raises(ServiceError, match="was told 1, now 0") as refused:
        client.tell(pulls[0].id, 0.0)
    assert refused.value.status == 409


def test_batches_go_in_one_request(wire, monkeypatch):
    """As many answers as subjects, in their order."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    client = wire[0]("r")
    pulls = client.ask_many(range(20))
    assert [pull.subject for pull in pulls] == list(range(20))
    client.tell_many((pull.id, 0.5) for pull in pulls)
    assert client.decision(pulls[3].id)["reward"] == 0.5


def test_what_is_wrong_is_said(wire, monkeypatch):
    """A wrong key, a rotation that is not named, a service that is not there."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    _, transport, http = wire
    for key, rotation, word in ((http.secret, None, "say which"), ("x", "r", "key")):
        with pytest.raises(ServiceError, match=word):
            ls.Client("http://testserver", key, rotation, transport=transport, tries=30)
    with pytest.raises(ServiceError, match="no answer"):
        ls.Client("http://127.0.0.1:9", "x", "r", tries=1)


def five_arms():
    """Return the paper's five arms, and a rotation that learns them."""
    bandit = ls.instances.five_arms()
    return bandit, {
        "arms": [{"name": name} for name in bandit.names],
        "initial": list(bandit.initial),
        "serve": {"decide": "learner"},
    }


def late_run(policy, bandit, rounds, subjects, late, seed):
    """Play with rewards up to ``late`` rounds late; return what the plays were worth."""
    rng, worth, waiting = stream(seed, "late"), 0.0, []
    from lastswitch.learning.policy.tracks import Track

    tracks = [Track(bandit.initial) for _ in range(subjects)]
    for round_ in range(rounds):
        for subject, pull in enumerate(policy.ask_many(range(subjects))):
            mean = bandit.mean(pull.arm, tracks[subject].play(pull.arm))
            worth += mean
            waiting.append(
                (round_ + rng.integers(0, late + 1), pull.id, float(rng.random() < mean))
            )
        due = [entry for entry in waiting if entry[0] <= round_]
        waiting = [entry for entry in waiting if entry[0] > round_]
        policy.tell_many((name, reward) for _, name, reward in due)
    return worth / (rounds * subjects)


class InProcess:
    """A policy with the client's batches."""

    def __init__(self, policy):
        self.policy = policy

    def ask_many(self, subjects):
        """Ask for each."""
        return [self.policy.ask(subject) for subject in subjects]

    def tell_many(self, rewards):
        """Tell each."""
        for name, reward in rewards:
            self.policy.tell(name, reward)


def test_a_learner_behind_http_earns_what_it_earns_in_process(database):
    """The paper's five arms, many subjects, late rewards; told nothing it earns much less."""
    bandit, spec = five_arms()
    size = {"rounds": 50, "subjects": 15, "seed": 1}
    with running(database, {"r": spec}) as http:
        transport = Flaky(http, 0)
        transport.rng.random = lambda: 1.0
        client = ls.Client("http://testserver", http.secret, "r", transport=transport)
        served = late_run(client, bandit, late=20, **size)
        learner = http.service.worker.rotations.decider("r").learner
        assert learner.books.counts.sum() + learner.books.pending.sum() == 50 * 15
    policies = [InProcess(ls.RotationUCB(5, initial=bandit.initial)) for _ in range(2)]
    alone = late_run(policies[0], bandit, late=20, **size)
    untold = late_run(policies[1], bandit, late=10**9, **size)
    assert served == pytest.approx(alone, rel=0.03)
    assert untold < 0.8 * alone


@pytest.mark.xdist_group("servers")
def test_a_simulation_runs_against_a_real_server(tmp_path):
    """``simulate`` takes a client for a policy: the same plays as in process."""
    bandit, spec = five_arms()
    spec["arms"] = [
        {"name": name, "rest": list(curve.rest), "streak": list(curve.streak)}
        for name, curve in zip(bandit.names, bandit.curves, strict=True)
    ]
    spec["serve"] = {"decide": "cycle", "cycle": list(bandit.names)}
    where = str(tmp_path / "a.sqlite")
    database = Database(where)
    database.create()
    put_rotation(database, "r", spec)
    database.close()
    server = Server(where).start()
    try:
        with ls.Client(server.url, server.key) as client:
            served = ls.simulate(bandit, client, 40, seed=3)
    finally:
        assert server.stop() in (0, -15)  # ended by the signal, once all was answered
    alone = ls.simulate(bandit, ls.FixedCycle(range(5), initial=bandit.initial), 40, seed=3)
    assert served.arms.tolist() == alone.arms.tolist()
    assert served.rewards.tolist() == alone.rewards.tolist()
