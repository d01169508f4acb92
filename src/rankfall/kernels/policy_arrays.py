"""What kernels know of a linear policy."""

from typing import Any, NamedTuple

from rankfall.kernels.epochs import Shortlists
from rankfall.kernels.item_scores import Items
from rankfall.kernels.item_vectors import ItemVectors
from rankfall.kernels.jit import leaf
from rankfall.kernels.ridge import State


class PolicyArrays(NamedTuple):
    """Views of a linear policy, not copies, and the shortlists that it keeps."""

    items: Items
    vectors: ItemVectors
    state: State
    gamma: float  # widths added to a mean, or times the posterior's spread by which weights are drawn
    lists: Shortlists
    pruning: bool  # whether to use the shortlists; their work space is used in any case
    whole: bool  # whether all items of a list count as seen, and not only those down to the click
    largest: float  # no list is learned from that has a feature beyond this


@leaf
def largest_shown(policy: PolicyArrays, features: Any, before: float) -> float:
    """The largest feature shown so far, where features may grow: where relevance diminishes."""
    largest = before
    if policy.items.relevance_diminishes:
        for i in range(features.shape[0]):
            for j in range(features.shape[1]):
                largest = max(largest, abs(features[i, j]))
    return largest
