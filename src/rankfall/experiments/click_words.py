"""From the words of a user to the click model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankfall.errors import ProblemError
from rankfall.users import (
    Cascade,
    ClickChain,
    ClickModel,
    DependentClick,
    DocumentBased,
    DynamicBayesian,
    ExaminedCascade,
    PositionBased,
    UserBrowsing,
)

CLICKS: Mapping[str, tuple[Callable[..., ClickModel], Mapping[str, str]]] = {
    "cascade": (Cascade, {}),
    "examined_cascade": (ExaminedCascade, {"examination": "a number for each position"}),
    "dependent_click": (DependentClick, {"termination": "a number for each position"}),
    "position_based": (PositionBased, {"examination": "a number for each position"}),
    "document_based": (DocumentBased, {}),
    "user_browsing": (UserBrowsing, {"examination": "for each position a number for each place of the last click"}),
    "dynamic_bayesian": (DynamicBayesian, {"satisfaction": "a number for each item", "continuation": ""}),
    "click_chain": (ClickChain, {"continuation": "three numbers"}),
}
"""Each click model by name, with the words it takes and what they are; those without text may be left out."""

PARAMETERS = tuple(sorted({word for _, takes in CLICKS.values() for word in takes}))
"""The words of all click models."""


def click_model_of(words: Mapping[str, Any]) -> ClickModel:
    """The click model that these words name; by default the cascade.

    >>> click_model_of({"clicks": "dependent_click", "termination": (0.5, 0.4)})
    DependentClick([0.5, 0.4])
    """
    name = words.get("clicks", "cascade")
    if name not in CLICKS:
        raise ProblemError(f"clicks is {name!r}; choose from {', '.join(CLICKS)}")
    model, takes = CLICKS[name]
    for word in PARAMETERS:
        if word in words and word not in takes:
            raise ProblemError(f"{word} makes no sense with clicks {name!r}; leave it out")
    for word, what in takes.items():
        if what and word not in words:
            raise ProblemError(f"clicks {name!r} needs {word}, {what}")
    return model(**{word: words[word] for word in takes if word in words})
