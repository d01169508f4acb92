"""What a comparison says about topics and diversity, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankfall.errors import ProblemError
from rankfall.experiments.evidence.comparison import REFERENCE, Comparison, Gain

PROCESS = "examined_cascade"
"""The click model of all answers. What stands further down is examined less, and covers less that is new; with
examination free at each position the one is not taken for the other."""

Says: TypeAlias = Literal["yes", "no", "open"]


@dataclass(frozen=True)
class Answer:
    """One question, the models that answer it, and by how much the first is more likely than the second."""

    question: str
    model: str
    over: str
    gain: Gain

    @property
    def says(self) -> Says:
        """Yes or no where the interval lies on one side of 0."""
        if self.gain.low > 0:
            return "yes"
        return "no" if self.gain.high < 0 else "open"


@dataclass(frozen=True)
class Verdict:
    """A sentence, and the answers it rests on."""

    sentence: str
    answers: tuple[Answer, ...]


def verdict(comparison: Comparison) -> Verdict:
    """Whether topics and diminishing matter in this log; needs a comparison with a catalog that has topics."""
    hybrid, topics, features, item = (f"{kind}, {PROCESS}" for kind in ("hybrid", "topics", "features", "item"))
    if all(row.name != hybrid for row in comparison.rows):
        raise ProblemError("without a catalog nothing is known of topics; give the comparison one")

    def answer(question: str, model: str, over: str) -> Answer:
        return Answer(question, model, over, comparison.gain(model, over))

    answers = (
        answer("Do features tell which items are clicked?", features, REFERENCE),
        answer("Do topics matter besides?", topics, features),
        answer("Do topics diminish, as items above cover them?", hybrid, topics),
        answer("Is the hybrid user better than features alone?", hybrid, features),
        answer("Is the hybrid user better than an attraction for each item?", hybrid, item),
    )
    return Verdict(_sentence(*answers), answers)


def _sentence(plain: Answer, topics: Answer, diminishing: Answer, both: Answer, items: Answer) -> str:
    if both.says == "yes" and diminishing.says == "yes":
        said = (
            "For diversity: people of this log care about what an item adds to the items above it. The hybrid user "
            f"finds a list's first click {likelier(both.gain)} more likely than features alone, and "
            f"{likelier(diminishing.gain)} more likely than topics that do not diminish. CascadeHybrid suits "
            "such users."
        )
    elif topics.says == "yes" and diminishing.says == "no":
        said = (
            "Against diversity: topics matter in this log, and an item is worth as much below others of its topic. "
            f"Topics that do not diminish find a list's first click {likelier(topics.gain)} more likely than features "
            "alone. CascadeLinUCBFull suits such users."
        )
    elif topics.says == "yes" or both.says == "yes":
        said = (
            "Open: topics matter in this log, and it does not say whether items above use them up. More lists, or "
            "lists that vary more, would tell."
        )
    elif diminishing.says == "yes":
        said = (
            "Open: topics that items above use up predict clicks better than topics that stay, and it cannot be told "
            "whether they add anything to features alone. More lists would tell."
        )
    elif plain.says == "yes":
        said = (
            "No sign of diversity: features tell which items are clicked, and topics add nothing that this log can "
            "show. CascadeLinUCB suits such users."
        )
    else:
        said = "Neither topics nor features tell which items of this log are clicked. Better features are needed first."
    if items.says == "no":
        said += (
            " An attraction for each item predicts better than all of these: items differ in ways that topics and "
            "features do not tell."
        )
    return said


def likelier(gain: Gain) -> str:
    """A difference in log-likelihood as a percentage.

    >>> likelier(Gain(0.0123, 0.01, 0.02, 100))
    '1.2 %'
    """
    return f"{100 * math.expm1(gain.mean):.2g} %"
