"""A first look: what is shown, what is learned, and what relevance and diversity are worth, in one page."""

from rankfall.experiments.first_look.look import FirstLook, first_look
from rankfall.experiments.first_look.page import write_page

__all__ = ["FirstLook", "first_look", "write_page"]
