"""Start the service on a small catalog of films, click like a user who likes some topics, and print what it learned.

    python examples/serve_and_click.py
    python examples/serve_and_click.py 8400    # on another port

Needs the extras [serve] and [client]. While it runs, open http://127.0.0.1:8321/ to watch it learn.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from rankfall import Catalog
from rankfall.client import Client

FILMS = {
    "Alien": {"horror": 0.9, "space": 0.8},
    "Aliens": {"horror": 0.7, "space": 0.8, "war": 0.5},
    "Amelie": {"romance": 0.9},
    "Gravity": {"space": 0.9},
    "Notting Hill": {"romance": 0.9, "comedy": 0.6},
    "Platoon": {"war": 0.9},
    "The Shining": {"horror": 0.9},
    "Top Secret!": {"comedy": 0.9, "war": 0.3},
}
LIKES = {"space": 0.6, "comedy": 0.4}
TOPICS = ["comedy", "horror", "romance", "space", "war"]


def main(port: str = "8321") -> None:
    """Start the service, click, and stop it."""
    coverage = [[film.get(topic, 0.0) for topic in TOPICS] for film in FILMS.values()]
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.parquet"
        Catalog(coverage, ids=FILMS, topics=TOPICS).write_parquet(items)
        options = ["--catalog", str(items), "--data", f"{folder}/data", "--port", port, "--policy", "CascadeLSB"]
        server = subprocess.Popen([sys.executable, "-m", "rankfall", "serve", *options])
        try:
            with Client(f"http://127.0.0.1:{port}", deadline=120, retries=200) as client:
                click_lists(client)
        finally:
            server.terminate()
            server.wait()


def click_lists(client: Client, lists: int = 500) -> None:
    """Ask for lists, click as a user with these preferences would, and print what the service learned."""
    client.change_model("default", k=3, control=0.2)
    chance = random.Random(0)
    for i in range(lists):
        ranked = client.rank(user=f"user-{i % 50}")
        left = dict.fromkeys(TOPICS, 1.0)  # share of each topic that the items above have not covered
        clicked = None
        for item in ranked.items:
            film = FILMS[str(item.id)]
            if chance.random() < sum(LIKES.get(topic, 0.0) * left[topic] * share for topic, share in film.items()):
                clicked = item.id
                break
            left |= {topic: left[topic] * (1 - share) for topic, share in film.items()}
        client.feedback(ranked, clicked=clicked)
    model = client.model("default")
    for arm, counts in model.arms.items():
        print(f"{arm}: {counts.clicked} of {counts.with_feedback} lists clicked")
    for weight in model.weights:
        print(f"{weight.name}: {weight.weight:+.2f} ± {weight.sd:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
