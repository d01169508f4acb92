"""Yahoo! Music ratings of songs (Webscope R2): 700 million ratings, 1.8 million users, 136 thousand songs."""

from __future__ import annotations

import re
from pathlib import Path

from rankfall.data import lines
from rankfall.data.ratings import Ratings, item_table
from rankfall.data.sources import Text
from rankfall.errors import FileError

TERMS = (
    "Non-commercial research at universities, under the agreement signed with Yahoo! when the data was given. "
    "It may not be passed on."
)
CITATION = (
    "Yahoo! Webscope. R2 - Yahoo! Music User Ratings of Songs with Artist, Album, and Genre Meta Information, v. 1.0."
)

RATINGS = re.compile(r"(train|test)[-_](\d+)\.txt")


def read_r2(folder: Path, name: str) -> Ratings:
    """R2 as unpacked: all of ``train_0.txt`` ... and ``test_0.txt`` ... (or ``train-1.txt`` ...) that are there.

    A song has one topic, its genre at the top of the hierarchy: from the genre in ``song-attributes.txt``, parents are
    followed in ``genre-hierarchy.txt`` up to level 1 (or a root above it, if a song names that itself). The genre
    called "Unknown", given to songs without one, is at level 1 and a topic like others: the paper counts it among the
    20. Songs have no titles and are called by their number. The publisher gives the data in two parts; one of them
    alone gives the users in that part.
    """
    found = sorted((m[1] != "train", int(m[2]), p) for p in folder.iterdir() if (m := RATINGS.fullmatch(p.name)))
    source = Text(tuple(path for *_, path in found), ("user", "item", "rating"), "\t", low=1, high=5)
    top = _top_genres(folder / "genre-hierarchy.txt")
    path = folder / "song-attributes.txt"
    ids: list[int] = []
    topics: list[list[str]] = []
    for number, fields in lines.rows(path, "\t"):
        if len(fields) != 4 or not all(field.isdecimal() for field in fields):
            raise lines.bad_line(path, number, "\t".join(fields), "song<TAB>album<TAB>artist<TAB>genre, whole numbers")
        if int(fields[3]) not in top:
            raise lines.bad_line(path, number, "\t".join(fields), f"a genre of {folder / 'genre-hierarchy.txt'}")
        ids.append(int(fields[0]))
        topics.append([top[int(fields[3])]])
    if not ids:
        raise FileError(f"{path} holds no songs")
    return Ratings(name, source, item_table(str(path), ids, [f"song {i}" for i in ids], topics), TERMS, CITATION)


def _top_genres(path: Path) -> dict[int, str]:
    """The name of the level-1 genre above each genre."""
    parent: dict[int, int] = {}
    level: dict[int, int] = {}
    names: dict[int, str] = {}
    line: dict[int, tuple[int, str]] = {}
    for number, fields in lines.rows(path, "\t"):
        if len(fields) != 4 or not all(field.isdecimal() for field in fields[:3]) or not fields[3]:
            expected = "genre<TAB>parent<TAB>level<TAB>name, the first three whole numbers"
            raise lines.bad_line(path, number, "\t".join(fields), expected)
        genre = int(fields[0])
        parent[genre], level[genre], names[genre] = int(fields[1]), int(fields[2]), fields[3]
        line[genre] = (number, "\t".join(fields))
    top = {}
    for genre in names:
        ancestor, seen = genre, {genre}
        while level[ancestor] > 1:
            ancestor = parent[ancestor]
            if ancestor not in names or ancestor in seen:
                raise lines.bad_line(path, *line[genre], "a genre whose parents lead up to level 1")
            seen.add(ancestor)
        top[genre] = names[ancestor]
    return top
