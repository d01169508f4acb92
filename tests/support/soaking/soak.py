"""A soak of one site: load, faults and checks, and what is to be told of it afterwards."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from soaking.checks import check
from soaking.faults import Chance, Fault, faults_of
from soaking.load import SoakCallers
from soaking.site import Site

Named = tuple[str, Fault]
MOST_MEMORY = 700.0
"""MiB that a process may take: three times what it takes when it starts."""


@dataclass
class Told:
    """What happened in a soak."""

    faults: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    checks: int = 0
    compared: dict[str, int] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)  # MiB of the largest process, each second
    longest_outage: float = 0.0
    seconds: float = 0.0


class Soak:
    """One site under load, with faults.

    Parameters
    ----------
    site : the servers and their store.
    folder : where exports are written.
    seed : of all that is left to chance.
    rest : seconds that a caller rests between lists.
    longest : seconds that a fault lasts at most; 0 if no fault lasts.
    """

    def __init__(
        self,
        site: Site,
        folder: Path,
        *,
        seed: int,
        rest: float = 0.0,
        longest: float = 0.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.site, self._folder, self._say = site, folder, say
        self.callers = SoakCallers(*site.urls, seed=seed, rest=rest)
        self._chance = Chance(random.Random(f"{seed} {site.name}"), longest)
        self.told = Told()

    def run(self, faults: Iterable[Named], *, between: int = 10) -> None:
        """Do these faults one after the other, under load, then check; callers get on by a few lists in between."""
        rng, since = self._chance.rng, time.monotonic()
        kills, _ = faults_of(self.site)
        with self.callers.calling(), self._watching_memory():
            for name, fault in faults:
                self.callers.wait_for("acknowledged", times=rng.randint(1, between))
                self._say(f"{self.site.name}: {name}")
                fault(self.site, self._chance)
                self.told.faults[name] += 1
                self.told.kills += name in kills
            self.site.wait_ready()
        until = time.monotonic()
        outages = [end - begin for begin, end in self.callers.outages(since, until)]
        self.told.longest_outage = max([self.told.longest_outage, *outages])
        self.told.seconds += until - since
        assert max(self.told.memory, default=0.0) < MOST_MEMORY, f"a process took {max(self.told.memory):.0f} MiB"
        self.told.compared = check(self.site, self.callers, self._folder)
        self.told.checks += 1

    @contextmanager
    def _watching_memory(self) -> Iterator[None]:
        over = threading.Event()

        def watch() -> None:
            while not over.wait(1.0):
                self.told.memory.append(max(self.site.memory(), default=0.0))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def every_fault(self) -> list[Named]:
        """Each fault once, in any order."""
        kills, others = faults_of(self.site)
        return self._chance.rng.sample([*kills.items(), *others.items()], len(kills) + len(others))

    def steady(self, kills: int, seconds: float) -> Iterator[Named]:
        """Faults for so long, with so many kills among them, at an even pace."""
        begin, done, rng = time.monotonic(), 0, self._chance.rng
        lethal, others = (list(some.items()) for some in faults_of(self.site))
        while (gone := time.monotonic() - begin) < seconds or done < kills:
            behind = done < kills * min(1.0, gone / seconds)
            if behind and rng.random() < 0.75:  # on a slow machine kills come late, but never alone
                done += 1
                yield rng.choice(lethal)
            else:
                yield rng.choice(others)
