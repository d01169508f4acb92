"""Priors in the journal: what users start from, learned from all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfall.array_container import pack, unpack
from rankfall.journal.records import Position
from rankfall.policies.linear.prior import Prior


@dataclass(frozen=True)
class PriorNote:
    """That a prior was learned, and from how much; what it says stands in its entry.

    Attributes
    ----------
    position, at : of the entry.
    users, lists : that taught it.
    counted : lists of the model with feedback until then.
    """

    position: Position
    at: float
    users: int
    lists: int
    counted: int


def encode_prior(prior: Prior) -> bytes:
    """A prior as bytes; of its covariance, which is symmetric to the bit, one half.

    >>> decode_prior(encode_prior(Prior([0.5, 0.25], [[0.1, 0.05], [0.05, 0.2]], 0.1, users=12))).covariance
    array([[0.1 , 0.05],
           [0.05, 0.2 ]])
    """
    half = prior.covariance[np.tril_indices(len(prior.mean))]
    return pack({"noise": prior.noise, "users": prior.users}, {"mean": prior.mean, "half": half})


def decode_prior(data: bytes) -> Prior:
    """The prior in these bytes, to the bit; raises ValueError for other bytes."""
    header, arrays = unpack(data)
    columns = len(arrays["mean"])
    covariance = np.empty((columns, columns))
    rows, below = np.tril_indices(columns)
    covariance[rows, below] = arrays["half"]
    covariance[below, rows] = arrays["half"]
    return Prior(arrays["mean"], covariance, header["noise"], header["users"])
