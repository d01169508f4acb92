"""What a service asks of a policy beside ranking and learning."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import NDArray

from rankfall.arrays import IntArray
from rankfall.errors import ProblemError
from rankfall.policies.clicks import Click
from rankfall.policies.explanation import Explanation, Weight
from rankfall.policies.forgetting import Forgetting
from rankfall.policies.ranking import Ranking

if TYPE_CHECKING:
    from rankfall.policies.policy import Policy


class Serving:
    """The part of a policy that a service needs: feedback comes later, and catalogs change meanwhile.

    A policy that can be served implements all of it and says ``why_not_served = None``; any other says why it cannot.
    """

    why_not_served: ClassVar[str | None] = "it does not say what to keep of a list so that its feedback can come later"

    @classmethod
    def learns(cls, feedback: str | None = None) -> str:  # noqa: ARG003 - not every policy has a choice
        """What its state means, with this feedback; policies that say the same can take over from each other."""
        return f"what {cls.__name__} learns"

    @classmethod
    def served_settings(cls, gamma: float, forgetting: Forgetting | None, feedback: str | None) -> dict[str, Any]:
        """The settings for what a service can set; raises :class:`ProblemError` for what the policy lacks."""
        raise ProblemError(f"{cls.__name__} has none of gamma {gamma}, forgetting {forgetting}, feedback {feedback}")

    def sharing(self, other: Policy) -> Self:
        """The same policy on the state of another one that learns alike; the two share it from now on."""
        raise self._not_served(f"take over the state of {other!r}")

    def record(self, ranking: Ranking) -> bytes:
        """What must be kept of a list so that its feedback can be learned later."""
        raise self._not_served(f"keep a record of {ranking!r}")

    def records(self, lists: IntArray) -> list[bytes]:
        """What :meth:`record` gives for each of these lists (n, k) of rows."""
        raise self._not_served(f"keep records of {len(lists)} lists")

    def learn_record(
        self, record: bytes, click: Click, topics: int | None = None, rewards: Mapping[int, float] | None = None
    ) -> None:
        """Learn from the clicks on a list of which :meth:`record` was kept, however the catalog changed since.

        ``topics`` is how many there were then: the first so many of those of the catalog; None for all of them.
        ``rewards`` are as in :meth:`update`.
        """
        raise self._not_served(f"learn {click!r}, {rewards} from a record of {len(record)} bytes, of {topics} topics")

    def add_outcome_to_record(
        self,
        record: bytes,
        click: Click,
        position: int,
        reward: float,
        topics: int | None = None,
        earned: float | None = None,
    ) -> None:
        """Learn what :meth:`add_outcome` does, of a list of which :meth:`record` was kept."""
        raise self._not_served(
            f"learn {reward} at {position} after {click!r} and {earned} from a record of {len(record)} bytes, "
            f"of {topics} topics"
        )

    def widened(self, arrays: Mapping[str, NDArray[Any]], topics: Collection[int]) -> Mapping[str, NDArray[Any]]:
        """A state as it is now that the catalog has more topics; ``topics`` are the numbers there may have been."""
        raise self._not_served(f"widen a state of {len(arrays)} arrays to the topics there are, from {topics}")

    def explain(self, ranking: Ranking) -> list[Explanation]:
        """Where each score came from when the list was made."""
        raise self._not_served(f"explain {ranking!r}")

    def learned(self) -> list[Weight]:
        """What was learned, for people to read."""
        raise self._not_served("say in words what it has learned")

    def _not_served(self, what: str) -> ProblemError:
        return ProblemError(f"{type(self).__name__} cannot {what}: {self.why_not_served}")
