"""Servers, disks and databases go away in the middle of things. What was acknowledged is there afterwards, once."""

import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from callers import Callers, K, Shown, check, learned_apart, result_of, weights
from needs import fill, small_disk
from postgres import Cluster
from served import Served, make_catalog
from soaking.faults import workers_of
from waiting import PATIENCE, wait_past, wait_until

pytestmark = pytest.mark.stress

A_DAY = 86_400
LISTS = 200


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    return make_catalog(tmp_path / "catalog.parquet")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    if request.param == "sqlite":
        return {"data": tmp_path / "data"}
    return {"store": request.getfixturevalue("postgres_url")}


def serve(tmp_path: Path, catalog: Path, **options: Any) -> Served:
    return Served(log=tmp_path / f"{len(list(tmp_path.glob('*.log')))}.log", catalog=catalog, rank_wait=None, **options)


def be_patient(served: Served) -> None:
    served.patch("/v1/models/default", feedback_wait=A_DAY)


def test_a_killed_server_has_all_it_acknowledged(tmp_path: Path, catalog: Path, store: dict[str, Any]) -> None:
    rng = random.Random(0)
    with serve(tmp_path, catalog, **store) as served:
        be_patient(served)
        callers = Callers(served.url)
        with callers.calling():
            for n in range(5):
                callers.wait_for("shown", times=rng.randint(1, 40))
                served.kill()
                callers.wait_for("cut")
                if n % 3 == 1:  # and once more, while it starts
                    served.spawn()
                    if n % 2:
                        served.wait_listening()
                    served.kill()
                served.start()
        before = check(served, callers.shown)
        served.restart()
        after = served.settled(before["learned"])
        assert weights(after) == weights(before)
        assert served.stop() in (0, -signal.SIGTERM)


def test_a_server_outlives_a_crash_of_its_database(
    tmp_path: Path, catalog: Path, postgres: Cluster, postgres_url: str
) -> None:
    rng = random.Random(1)
    with serve(tmp_path, catalog, store=postgres_url) as served:
        be_patient(served)
        callers = Callers(served.url, baselines=True)
        with callers.calling():
            for _ in range(3):
                callers.wait_for("shown", times=rng.randint(1, 40))
                postgres.stop("immediate")
                callers.wait_for("503", "fallback")  # it stays down until callers have seen both
                assert served.client.get("/health/live").status_code == 200
                wait_until(lambda: served.client.get("/health/ready").status_code == 503)
                postgres.start()
            served.wait_ready()
        assert callers.seen["cut"] == 0, "the server itself answers all the time"
        check(served, callers.shown)


def test_a_worker_that_starts_while_the_database_is_away_does_not_stop_the_others(
    tmp_path: Path, catalog: Path, postgres: Cluster, postgres_url: str
) -> None:
    with serve(tmp_path, catalog, store=postgres_url, workers=2) as served:
        before = workers_of(served)
        postgres.stop("immediate")
        before[0].kill()
        wait_until(lambda: not served.alive or "a worker cannot start; the server tries again" in served.said(10_000))
        assert served.alive, served.said()
        assert served.client.get("/health/live").status_code == 200
        postgres.start()
        wait_until(lambda: len([one for one in workers_of(served) if one not in before[:1]]) == len(before))
        served.wait_ready()


def test_a_server_outlives_cut_connections(tmp_path: Path, catalog: Path, postgres: Cluster, postgres_url: str) -> None:
    rng = random.Random(2)
    with serve(tmp_path, catalog, store=postgres_url) as served:
        be_patient(served)
        callers = Callers(served.url, baselines=True)
        with callers.calling():
            for _ in range(10):
                callers.wait_for("shown", times=rng.randint(1, 30))
                wait_until(lambda: postgres.cut(postgres_url) > 0)
        assert callers.seen["cut"] == 0, "the server itself answers all the time"
        check(served, callers.shown)


def test_a_server_outlives_a_full_disk(tmp_path: Path, catalog: Path) -> None:
    with (
        small_disk(tmp_path / "disk", megabytes=16) as disk,
        serve(tmp_path, catalog, data=disk / "data") as served,
    ):
        filler = disk / "filler"
        be_patient(served)
        callers = Callers(served.url, baselines=True)
        for _ in range(2):
            with callers.calling():
                callers.wait_for("shown", times=20)
                fill(filler)
                callers.wait_for("503", "fallback")
                assert served.client.get("/health/live").status_code == 200
                filler.unlink()
                callers.wait_for("shown", times=20)
        assert callers.seen["cut"] == 0, "the server itself answers all the time"
        check(served, callers.shown)
        fill(filler)
        served.kill()
        filler.unlink()
        check(served.start(), callers.shown)


def test_servers_on_one_database_come_to_the_same_weights(tmp_path: Path, catalog: Path, postgres_url: str) -> None:
    rng = random.Random(3)
    with (
        serve(tmp_path, catalog, store=postgres_url, workers=2) as first,
        serve(tmp_path, catalog, store=postgres_url) as second,
    ):
        be_patient(first)
        servers = (first, second)
        wait_until(lambda: all(served.model()["settings"]["feedback_wait"] == A_DAY for served in servers))
        shown = []
        for _ in range(LISTS):
            request = {"user": f"user {rng.randrange(9)}", "k": K}
            answer = rng.choice(servers).client.post("/v1/models/default/rank", json=request)
            assert answer.status_code == 200, answer.text
            shown.append(Shown(request, answer.content))

        def write(number: int) -> dict[str, int | None]:
            """Give feedback on all lists, in an order of its own; what was accepted."""
            order, accepted = random.Random(number), {}
            with httpx.Client(base_url=servers[number % 2].url, timeout=PATIENCE, trust_env=False) as client:
                for one in order.sample(shown, len(shown)):
                    clicked = order.choice([None, *range(1, K + 1)])
                    answer = client.post("/v1/feedback", json={"event_id": one.event_id, "clicked": clicked})
                    assert answer.status_code == 200, answer.text
                    if result_of(answer.json()) == "accepted":
                        accepted[one.event_id] = clicked
            return accepted

        with ThreadPoolExecutor(4) as pool:
            accepted = list(pool.map(write, range(4)))
        assert sum(map(len, accepted)) == LISTS, "each is accepted once"
        for one in shown:
            (one.clicked,) = (of[one.event_id] for of in accepted if one.event_id in of)
            positions = [] if one.clicked is None else [one.clicked]
            for served in servers:
                assert served.event(one.event_id)["feedback"]["clicked"] == positions
        wait_until(lambda: len(states(*servers)) == 1)  # all workers have folded everything
        ((learned, *found),) = states(*servers)
        assert learned == LISTS
        np.testing.assert_allclose(found, learned_apart(first.catalog, shown), rtol=1e-6, atol=1e-9)
        second.restart()
        second.settled(LISTS)
        assert states(*servers) == {(learned, *found)}


def states(*servers: Served) -> set[tuple[float, ...]]:
    """What the workers of these servers have learned, to the bit: asked on connections of their own."""
    found = set()
    for served in servers:
        for _ in range(8):
            model = httpx.get(f"{served.url}/v1/models/default", timeout=PATIENCE, trust_env=False).json()
            found.add((model["learned"], *weights(model)))
    return found


def test_a_wait_in_which_the_server_is_down_goes_on_and_is_learned_once(
    tmp_path: Path, catalog: Path, store: dict[str, Any]
) -> None:
    with serve(tmp_path, catalog, **store) as served:
        served.patch("/v1/models/default", feedback_wait=1)
        answers = [served.client.post("/v1/models/default/rank", json={"k": K}) for _ in range(20)]
        shown = [Shown({}, answer.content) for answer in answers]
        served.kill()
        wait_past(max(answer.json()["expires_at"] for answer in answers))
        served.start()
        model = served.settled(len(shown))
        assert (model["learned"], model["counts"]["expired"]) == (len(shown), len(shown))
        for one in shown:
            assert served.event(one.event_id)["feedback"]["kind"] == "expired"
            late = served.client.post("/v1/feedback", json={"event_id": one.event_id, "clicked": 1}).json()
            assert result_of(late) in ("late", "duplicate")
        np.testing.assert_allclose(weights(model), learned_apart(served.catalog, shown), rtol=1e-6, atol=1e-9)
        served.restart()
        assert weights(served.settled(len(shown))) == weights(model)
