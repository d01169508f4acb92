"""Click models as options name them: by their names, or as the literature calls them."""

from __future__ import annotations

import click

SHORT = {
    "cm": "cascade",
    "dcm": "dependent_click",
    "pbm": "position_based",
    "ubm": "user_browsing",
    "dbn": "dynamic_bayesian",
    "sdbn": "simplified_bayesian",
    "ccm": "click_chain",
}
"""What the literature calls them."""
CLICK_MODELS = (*SHORT.values(), "examined_cascade")


class ClickModelName(click.Choice[str]):
    """One of the click models that can be fitted with an attraction for each item; gives its full name."""

    def __init__(self) -> None:
        super().__init__([*CLICK_MODELS, *SHORT])

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The full name."""
        given = super().convert(value, param, ctx)
        return SHORT.get(given, given)
