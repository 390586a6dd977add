"""What an attacker would try."""

import pytest
from service_cases import CYCLE, Access, Database, Limits, ask, running

from lastswitch.service import keys as keys_module
from lastswitch.service.keys import Keys, make_key, revoke_key
from lastswitch.service.problems import Problem

MARKUP = "<img src=x onerror=alert(1)>"
NASTY = [
    MARKUP,
    "'; DROP TABLE subject; --",
    '" OR "1"="1',
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "=cmd|' /C calc'!A0",
    "a/b?c=d#e",
    "名前 🎵",
    "%s%n{0}",
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Give the database of a service, and a client of it."""
    database = Database(tmp_path_factory.mktemp("served") / "a.sqlite", "NORMAL")
    with running(database, {"r": CYCLE, "l": CYCLE}) as found:
        yield database, found


@pytest.fixture
def client(served):
    """Give a client of a service."""
    return served[1]


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic ls_x", "Bearer ls_a_b"])
def test_no_key_no_answer(client, header):
    """Whatever is asked for, and whatever the header looks like."""
    headers = {"authorization": header or ""}
    for method, path in (
        ("GET", "/v1/rotations"),
        ("GET", "/v1/rotations/r/journal"),
        ("GET", "/v1/rotations/r/events"),
        ("POST", "/v1/rotations/r/decisions"),
        ("PUT", "/v1/rotations/r"),
        ("GET", "/metrics"),
    ):
        found = client.request(method, path, headers=headers)
        assert found.status_code == 401
        assert found.headers["www-authenticate"].startswith("Bearer")


def test_keys_do_what_they_may_and_no_more(served):
    """Read-only keys do not write; keys of a rotation do not see another; revoked ones nothing."""
    database, client = served
    reader = {"authorization": f"Bearer {make_key(database, writes=False)}"}
    own = make_key(database, rotation="r")
    narrow = {"authorization": f"Bearer {own}"}
    client.service.keys.read()
    elsewhere = ask(client, rotation="l").json()["id"]
    assert client.get("/v1/rotations", headers=reader).status_code == 200
    post = {"json": {"subject": "ann"}}
    assert client.post("/v1/rotations/r/decisions", headers=reader, **post).status_code == 403
    assert client.put("/v1/rotations/r", headers=reader, json=CYCLE).status_code == 403
    assert client.post("/v1/rotations/r/decisions", headers=narrow, **post).status_code == 201
    assert [r["name"] for r in client.get("/v1/rotations", headers=narrow).json()] == ["r"]
    for method, path, body in (
        ("POST", "/v1/rotations/l/decisions", {"subject": "ann"}),
        ("GET", "/v1/rotations/l/journal", None),
        ("GET", f"/v1/decisions/{elsewhere}", None),
        ("POST", f"/v1/decisions/{elsewhere}/reward", {"reward": 1}),
    ):
        assert client.request(method, path, headers=narrow, json=body).status_code == 404
    rewards = {"rewards": [{"id": elsewhere, "reward": 1}]}
    answers = client.post("/v1/decisions/reward", headers=narrow, json=rewards).json()["answers"]
    assert answers[0]["status"] == 404
    revoke_key(database, own.split("_")[1])
    client.service.keys.read()
    assert client.get("/v1/rotations", headers=narrow).status_code == 401


def test_only_hashes_are_kept(served):
    """The secret of a key is nowhere in the database."""
    database, client = served
    secret = client.secret.split("_", 2)[2]
    with open(database.url.database, "rb") as file, open(f"{file.name}-wal", "rb") as wal:
        assert secret.encode() not in file.read() + wal.read()


def test_a_key_is_compared_as_a_whole(database, monkeypatch):
    """Every check, of a known name or not, compares one whole hash with one whole hash."""
    database.create()
    good = make_key(database)
    found, seen = Keys(database), []
    found.read()
    compare = keys_module.hmac.compare_digest
    monkeypatch.setattr(
        keys_module.hmac, "compare_digest", lambda a, b: seen.append((a, b)) or compare(a, b)
    )
    assert found.check(f"Bearer {good}").writes
    wrong = [good[:-1] + ("A" if good[-1] != "A" else "B"), f"ls_{'0' * 12}_{'x' * 43}"]
    for key in wrong:
        with pytest.raises(Problem, match="opens nothing"):
            found.check(f"Bearer {key}")
    assert len(seen) == 3
    assert all(len(a) == len(b) == 64 for a, b in seen)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_only_names(client, name):
    """A subject may be called anything that can be shown, and is given back as it is."""
    found = ask(client, name, allowed=["a", "b", "c"])
    assert found.status_code == 201
    assert found.json()["subject"] == name
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert name in [s["subject"] for s in client.get("/v1/rotations/r/subjects").json()]
    spec = {"arms": [{"name": part, "rest": [1], "streak": [0]} for part in (name, "other")]}
    spec["serve"] = {"decide": "plan"}
    rotation = f"x{NASTY.index(name)}"
    assert client.put(f"/v1/rotations/{rotation}", json=spec).status_code == 201
    assert client.get(f"/v1/rotations/{rotation}").json()["arms"] == [name, "other"]
    assert client.put(f"/v1/rotations/{name}", json=spec).status_code in (404, 405, 422)


@pytest.mark.parametrize("name", ["", "\x00", "a\x00b", "line\nbreak", "\x1b[2J", "x" * 201])
def test_names_that_cannot_be_shown_are_refused(client, name):
    """Of subjects, of arms that are allowed, and of arms."""
    assert ask(client, name).status_code == 422
    assert ask(client, allowed=[name]).status_code == 422
    assert client.put("/v1/rotations/x", json={"arms": [{"name": name}]}).status_code == 422


def test_half_a_character_is_refused(client):
    """JSON can say it, no database can keep it."""
    headers = {"content-type": "application/json"}
    for body in (b'{"subject": "\\ud800"}', b'{"subject": "\xff"}', b'{"subject": "a"', b"[]"):
        found = client.post("/v1/rotations/r/decisions", content=body, headers=headers)
        assert found.status_code == 422, body


def test_a_csv_runs_no_formula(client):
    """Cells that a spreadsheet would take for a formula are quoted."""
    ask(client, "=1+1")
    text = client.get("/v1/rotations/r/log", params={"form": "csv"}).text
    assert "=1+1" in text
    assert not any(cell.startswith("=") for line in text.splitlines() for cell in line.split(","))


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fapp.py",
        "/%2e%2e/app.py",
        "/studio/../app.py",
        "//etc/passwd",
    ],
)
def test_paths_lead_nowhere_else(client, path):
    """The page's folder is all that is served."""
    found = client.get(path)
    assert found.status_code in (404, 405, 421)
    assert "import" not in found.text


def test_bodies_and_batches_have_a_size(database):
    """Said or streamed, too much is too much."""
    access = Access(hosts=("testserver",), limits=Limits(body=2000, batch=3))
    with running(database, {"r": CYCLE}, access=access) as client:
        headers = {"content-type": "application/json"}
        path = "/v1/rotations/r/decisions"
        large = b'{"subject": "' + b"a" * 3000 + b'"}'
        assert client.post(path, content=large, headers=headers).status_code == 413
        pieces = (b"a" * 500 for _ in range(10))
        assert client.post(path, content=pieces, headers=headers).status_code == 413
        many = {"decisions": [{"subject": "a"}] * 4}
        assert client.post(f"{path}/batch", json=many).status_code == 413
        assert client.post(path, content=b"subject=ann").status_code == 415
        deep = b'{"subject": ' + b"[" * 900 + b"]" * 900 + b"}"
        assert client.post(path, content=deep, headers=headers).status_code == 422
        assert ask(client).status_code == 201


def test_a_key_has_a_rate(database):
    """More than that is told how long to wait; entries of a batch count one by one."""
    access = Access(hosts=("testserver",), limits=Limits(rate=2.0))
    with running(database, {"r": CYCLE}, access=access) as client:
        statuses = [client.get("/v1/rotations").status_code for _ in range(5)]
        assert statuses[:4] == [200] * 4
        assert statuses[4] == 429
        other = {"authorization": f"Bearer {make_key(database)}"}
        client.service.keys.read()
        asks = {"decisions": [{"subject": f"s{k}"} for k in range(40)]}
        path = "/v1/rotations/r/decisions/batch"
        assert client.post(path, json=asks, headers=other).status_code == 200
        late = client.get("/v1/rotations", headers=other)
        assert late.status_code == 429
        wait = late.json()["retry_after"]
        assert 15 <= wait <= 20
        assert late.headers["retry-after"] == str(wait)
        assert client.get("/health").status_code == 200


def test_a_name_that_points_here_is_not_ours(client):
    """DNS rebinding: the browser says whom it believes to speak with."""
    for host in ("evil.example", "127.0.0.1.evil.example", "testserver.evil.example", ""):
        assert client.get("/health", headers={"host": host}).status_code == 421
    for host in ("testserver", "TESTSERVER:8000"):
        assert client.get("/health", headers={"host": host}).status_code == 200


def test_other_sites_cannot_use_it(client):
    """CSRF: neither a form nor a script of another site gets through, with or without a key."""
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://evil.example/testserver"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert ask_with(client, headers).status_code == 403
        assert client.get("/v1/rotations", headers=headers).status_code == 403
    assert ask_with(client, {"origin": "http://testserver"}).status_code == 201
    assert ask_with(client, {"sec-fetch-site": "same-origin"}).status_code == 201
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200  # a link


def ask_with(client, headers):
    """Ask with more headers."""
    return client.post("/v1/rotations/r/decisions", json={"subject": "ann"}, headers=headers)


def test_nothing_may_be_loaded_from_elsewhere(client):
    """The page's policy names no other place, and nobody may frame it."""
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_beyond_loopback_a_name_is_needed(tmp_path, capsys):
    """Listening on every address without saying who we are is refused."""
    from lastswitch.cli import main

    where = str(tmp_path / "a.sqlite")
    assert main(["serve", "--database", where, "--host", "0.0.0.0"]) == 2
    assert "--name" in capsys.readouterr().err
    assert Database(where).url.database == where
