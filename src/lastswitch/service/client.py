"""A rotation behind HTTP, asked and told like a policy."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from numpy.typing import ArrayLike

from lastswitch._utils.checks import check_whole
from lastswitch._utils.extras import load_extra
from lastswitch.errors import ServiceError
from lastswitch.learning.policy.ledger import Pull
from lastswitch.learning.policy.tracks import Subject, check_subject
from lastswitch.model.states import as_allowed

#: Answers after which it is worth trying again.
_AGAIN = (429, 502, 503, 504)
#: What a subject without a name is called.
DEFAULT = "default"


class Client:
    """A rotation of a service, with ``ask``, ``confirm``, ``cancel`` and ``tell`` of a policy.

    Every request that changes something carries a key of its own, and is sent again, with the same
    key, when no answer comes: it is done once, however often it is sent. Not safe to share between
    threads.

    Parameters
    ----------
    url
        Where the service is, such as ``"http://127.0.0.1:8000"``.
    key
        A key that writes.
    rotation
        The rotation's name; may be left out where the key sees only one.
    tries
        How often a request is sent before giving up.
    timeout
        Seconds to wait for each answer.
    transport
        An ``httpx2`` transport, to talk to a service in this process.

    Examples
    --------
    With a service behind it (:func:`lastswitch.service.running.background` starts one), ``ask``,
    ``tell`` and ``ls.simulate(bandit, client, horizon=1000, subjects=50)`` work as with a policy.

    >>> from lastswitch.errors import ServiceError
    >>> try:
    ...     Client("http://127.0.0.1:9", key="none", rotation="radio", tries=1).ask("ann")
    ... except ServiceError:
    ...     print("no service is there")
    no service is there
    """

    def __init__(
        self,
        url: str,
        key: str,
        rotation: str | None = None,
        *,
        tries: int = 6,
        timeout: float = 10.0,
        transport: Any = None,
    ) -> None:
        self._httpx = load_extra("httpx2", "serve")
        self.tries = check_whole("tries", tries, 1, ServiceError)
        self._http = self._httpx.Client(
            base_url=url,
            headers={"authorization": f"Bearer {key}"},
            timeout=timeout,
            transport=transport,
        )
        self.rotation = self._only_rotation() if rotation is None else rotation
        self._arms: list[str] = []
        self._numbers: dict[str, int] = {}
        self.refresh()

    def __repr__(self) -> str:
        return f"Client({self.rotation!r} at {self._http.base_url}, {self.n_arms} arms)"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    @property
    def n_arms(self) -> int:
        """How many arms the rotation has, those retired included."""
        return len(self._arms)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms, by number."""
        return tuple(self._arms)

    def refresh(self) -> None:
        """Read the rotation's arms again: somebody may have added some."""
        found = self._call("GET", f"/v1/rotations/{self.rotation}")
        self._arms = found["arms"]
        self._numbers = {name: arm for arm, name in enumerate(self._arms)}

    def ask(
        self,
        subject: Subject = None,
        *,
        at: int | str | None = None,
        allowed: ArrayLike | None = None,
        confirm: bool = True,
        key: str | None = None,
    ) -> Pull:
        """Return the next pull for ``subject``.

        Parameters
        ----------
        subject, allowed, confirm
            As in :meth:`lastswitch.Policy.ask`; a number stands for its digits.
        at
            The round, or, where the rotation has a calendar, a moment in it.
        key
            An idempotency key; by default one that nobody else has.
        """
        path = f"/v1/rotations/{self.rotation}/decisions"
        body = self._asked(subject, at, allowed, confirm)
        given = {"idempotency-key": key or secrets.token_hex(16)}
        return self._pull(self._call("POST", path, body, given), subject)

    def ask_many(
        self, subjects: Iterable[Subject], *, at: int | str | None = None, confirm: bool = True
    ) -> list[Pull]:
        """Return the next pull of each subject, all in one request."""
        names = list(subjects)
        decisions = [
            {**self._asked(subject, at, None, confirm), "key": secrets.token_hex(16)}
            for subject in names
        ]
        path = f"/v1/rotations/{self.rotation}/decisions/batch"
        found = self._each(path, {"decisions": decisions})
        return [self._pull(one, name) for one, name in zip(found, names, strict=True)]

    def confirm(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Say that the offered pull ``id`` is played."""
        self._call("POST", f"/v1/decisions/{id}/confirm")

    def cancel(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Say that the offered pull ``id`` is not played."""
        self._call("POST", f"/v1/decisions/{id}/cancel")

    def tell(self, id: str, reward: float | None) -> None:  # noqa: A002 - the contract's word
        """Give the reward of pull ``id``; ``None`` if it will never come."""
        self._call("POST", f"/v1/decisions/{id}/reward", {"reward": _number(reward)})

    def tell_many(self, rewards: Iterable[tuple[str, float | None]]) -> None:
        """Give the rewards of several pulls, all in one request."""
        told = [{"id": name, "reward": _number(reward)} for name, reward in rewards]
        self._each("/v1/decisions/reward", {"rewards": told})

    def decision(self, id: str) -> dict[str, Any]:  # noqa: A002 - the contract's word
        """Return everything the service knows of a decision."""
        found: dict[str, Any] = self._call("GET", f"/v1/decisions/{id}")
        return found

    def _asked(
        self, subject: Subject, at: int | str | None, allowed: ArrayLike | None, confirm: bool
    ) -> dict[str, Any]:
        check_subject(subject)
        body: dict[str, Any] = {
            "subject": DEFAULT if subject is None else str(subject),
            "confirm": "now" if confirm else "later",
        }
        if at is not None:
            body["at"] = at
        if allowed is not None:
            mask = as_allowed(allowed, self.n_arms, ServiceError).tolist()
            body["allowed"] = [name for name, free in zip(self._arms, mask, strict=True) if free]
        return body

    def _pull(self, found: Mapping[str, Any], subject: Subject) -> Pull:
        arms = found["arms"]
        if len(arms) != 1:
            raise ServiceError(
                f"the rotation plays {len(arms)} arms in this round, and a pull is one; see "
                f"decision({found['id']!r})."
            )
        if arms[0] not in self._numbers:
            self.refresh()
        return Pull(found["id"], self._numbers[arms[0]], found["state"][0], subject)

    def _only_rotation(self) -> str:
        names = [entry["name"] for entry in self._call("GET", "/v1/rotations")]
        if len(names) != 1:
            raise ServiceError(
                f"say which rotation: the key sees {', '.join(sorted(names)) or 'none'}."
            )
        return str(names[0])

    def _each(self, path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Send a batch; the first problem in it is raised."""
        answers: Sequence[dict[str, Any]] = self._call("POST", path, body)["answers"]
        for entry in answers:
            if "problem" in entry:
                raise _error(entry["problem"])
        return [entry["decision"] for entry in answers]

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request until it is answered."""
        for attempt in range(self.tries):
            last = attempt == self.tries - 1
            try:
                found = self._http.request(method, path, json=body, headers=headers)
            except self._httpx.TransportError as error:
                if last:
                    raise ServiceError(
                        f"no answer from {self._http.base_url} after {self.tries} tries "
                        f"({type(error).__name__}); is the service running?"
                    ) from error
            else:
                if found.status_code < 400:
                    return found.json()
                if last or found.status_code not in _AGAIN:
                    raise _error(_problem(found))
            time.sleep(min(0.05 * 2**attempt, 2.0))
        raise AssertionError("unreachable")  # pragma: no cover


def _number(reward: float | None) -> float | None:
    """Return a reward as JSON has it: NaN, which says that none will come, is null."""
    return None if reward is None or reward != reward else float(reward)


def _problem(found: Any) -> dict[str, Any]:
    try:
        body = found.json()
    except ValueError:
        body = {}
    return body if isinstance(body, dict) and "detail" in body else {"status": found.status_code}


def _error(problem: dict[str, Any]) -> ServiceError:
    words = problem.get("detail", f"the service answered {problem.get('status')}")
    return ServiceError(str(words), problem)
