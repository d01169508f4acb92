"""Fits of attraction that is linear in features and in coverage gains: likelihood, gradient and curvature.

List n stands in rows ``start[n]`` to ``start[n + 1]``, top first. With ``u = appeal + omega . theta`` of an item, where
omega is the coverage it adds to those above, position r is clicked with probability ``examination[r] * s(u)``.

``s`` is the clip to [0, 1], blurred over a width b: ``s(u) = b (softplus(u / b) - softplus((u - 1) / b))``. That is the
distribution function of a uniform and a logistic variable added up, both of which have log-concave densities, so that
``log s`` and ``log (1 - s)`` are concave: with examination 1 the likelihood has one maximum. It is the clip itself but
for a few widths around 0 and 1, and never 0.
"""

from typing import Any

import numpy as np

from rankfall.kernels import cascade
from rankfall.kernels.jit import compiled, leaf

_FAR = 36.0  # widths from 0 and 1 at which the blurred clip is the clip, to the last bit
_LOWEST = -700.0  # below it exp is 0


@leaf
def _softplus(x: float) -> float:
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@leaf
def _logistic(x: float) -> float:
    if x >= 0.0:
        return 1.0 / (1.0 + np.exp(-x))
    e = np.exp(x)
    return e / (1.0 + e)


@leaf
def blurred(u: float, blur: float) -> tuple[float, float, float, float]:
    """The blurred clip s, 1 - s without cancellation, and the first two derivatives of s."""
    if _FAR * blur < u < 1.0 - _FAR * blur:
        return u, 1.0 - u, 1.0, 0.0
    low = max(u / blur, _LOWEST)
    high = min((u - 1.0) / blur, -_LOWEST)
    at_low, at_high = _logistic(low), _logistic(high)
    bend = (at_low * (1.0 - at_low) - at_high * (1.0 - at_high)) / blur
    if u < 0.5:
        s = blur * (_softplus(low) - _softplus(high))
        return s, 1.0 - s, at_low - at_high, bend
    rest = blur * (_softplus(-high) - _softplus(-low))
    return 1.0 - rest, rest, _logistic(-high) - _logistic(-low), bend


@compiled
def curvature(
    start: Any,
    item: Any,
    click: Any,
    user: cascade.UserArrays,
    relevance: Any,
    examination: Any,
    blur: float,
    gradient: Any,
    second: Any,
) -> float:
    """Log-likelihood of the clicks; adds to its gradient (D + K) and to its negative Hessian (D + K, D + K).

    Columns are theta (d), the weights of ``relevance`` (L, m), and the logarithm of examination at each position (K).
    ``user.appeal`` is ``relevance`` times its weights.

    What belongs to the weights of relevance is summed by item first, and by item and topic, and multiplied with its
    features once: a row costs as much as its item has topics, however many features there are.
    """
    d, m, k = len(user.theta), relevance.shape[1], len(examination)
    n_items, entries = len(user.appeal), len(user.topic)
    g_item, h_item = np.zeros(n_items), np.zeros(n_items)
    h_entry = np.zeros(entries)
    h_place = np.zeros((k, n_items))
    left = np.empty(d)
    total = 0.0
    product = 1.0
    for n in range(len(start) - 1):
        left[:] = 1.0
        for row in range(start[n], start[n + 1]):
            r = row - start[n]
            a = item[row]
            u = user.appeal[a]
            for p in range(user.start[a], user.start[a + 1]):
                j = user.topic[p]
                u += left[j] * user.weight[p] * user.theta[j]
            e = examination[r]
            s, rest, slope, bend = blurred(u, blur)
            none = (1.0 - e) + e * rest
            if not (none > 0.0 and s > 0.0):
                return -np.inf
            if click[row]:
                product *= e * s
                g = slope / s
                h, h_both = g * g - bend / s, 0.0
                gradient[d + m + r] += 1.0
            else:
                product *= none
                g = -e * slope / none
                h, h_both = g * g + e * bend / none, e * slope / (none * none)
                gradient[d + m + r] -= e * s / none
                second[d + m + r, d + m + r] += e * s / (none * none)
            g_item[a] += g
            h_item[a] += h
            h_place[r, a] += h_both
            for p in range(user.start[a], user.start[a + 1]):
                j = user.topic[p]
                omega = left[j] * user.weight[p]
                gradient[j] += g * omega
                h_entry[p] += h * omega
                second[j, d + m + r] += h_both * omega
                for q in range(user.start[a], p + 1):
                    i = user.topic[q]
                    second[i, j] += h * omega * left[i] * user.weight[q]
            if not 1e-200 < product < 1e200:
                total += np.log(product)
                product = 1.0
            cascade.cover(a, user, left)
    total += np.log(product)
    _expand(user, relevance, g_item, h_item, h_entry, h_place, gradient, second)
    return total


@compiled
def _expand(
    user: cascade.UserArrays,
    relevance: Any,
    g_item: Any,
    h_item: Any,
    h_entry: Any,
    h_place: Any,
    gradient: Any,
    second: Any,
) -> None:
    """Put sums by item into the columns of relevance; then mirror the upper half of the Hessian."""
    d, m, k = len(user.theta), relevance.shape[1], len(h_place)
    for a in range(len(relevance)):
        if h_item[a] == 0.0 and g_item[a] == 0.0:
            continue
        for c in range(m):
            z = relevance[a, c]
            gradient[d + c] += g_item[a] * z
            for b in range(c, m):
                second[d + c, d + b] += h_item[a] * z * relevance[a, b]
            for p in range(user.start[a], user.start[a + 1]):
                second[user.topic[p], d + c] += h_entry[p] * z
            for r in range(k):
                second[d + c, d + m + r] += h_place[r, a] * z
    for i in range(d + m + k):
        for j in range(i):
            second[i, j] = second[j, i]


@compiled
def attractions(start: Any, item: Any, user: cascade.UserArrays, out: Any) -> None:
    """Attraction of each row, given those above it in its list, clipped to [0, 1]."""
    left = np.empty(len(user.theta))
    for n in range(len(start) - 1):
        here = slice(start[n], start[n + 1])
        cascade.attraction(item[here], user, left, out[here])
