"""Which items rules allow at a position of a list, given those that stand in it already.

Rows have a code for each attribute, -1 for none. A rule looks at one attribute. What it asks of a code is a table
(``fits``), and what stands in the list is counted beside it (``counts``), so that a row is judged in a few steps,
however many items there are.

A quota ("at least") is looked after ahead: an item may stand at a position only if enough positions and enough items
are left after it to meet what the quota still needs. What can never be met is not asked for: a quota falls to what can.
"""

from typing import Any, NamedTuple

from rankfall.kernels.jit import entry, inner, leaf

EACH, MOST, LEAST, APART, ONLY = range(5)
"""Kinds of rules: at most n of each code; at most n that fit; at least n that fit; no two of a code within n positions;
only those that fit."""


class Rules(NamedTuple):
    """R rules of lists of up to k items, in the order they were given; and room for one list."""

    kind: Any  # (R)
    attribute: Any  # (R) a row of ``codes``
    n: Any  # (R)
    first: Any  # (R) it holds among so many positions
    start: Any  # (R) where its part of ``fits`` and ``counts`` begins
    fits: Any  # (T) whether a code fits: at start + code + 1
    codes: Any  # (A, L) of each item
    counts: Any  # (T) by code, like ``fits``; at ``start`` alone, where only those that fit are counted
    on: Any  # (R) whether it holds at this position
    needed: Any  # (R) how many items a quota still needs
    servers: Any  # (S) rows that fit a quota and are allowed by the filters
    picked: Any  # (k)
    taken: Any  # (L) whether an item stands in the list, or may not stand there
    target: Any  # (1) by how many positions quotas may be short


@leaf
def _code(rules: Rules, r: int, row: int) -> int:
    """Where the code of an item is in the part of a rule."""
    return rules.start[r] + rules.codes[rules.attribute[r], row] + 1


@leaf
def _fits(rules: Rules, r: int, row: int) -> bool:
    return rules.fits[_code(rules, r, row)]


@inner
def _count(rules: Rules, row: int, position: int, more: int) -> None:
    """An item stands at a position (``more`` is 1), or it does not after all (-1)."""
    for r in range(len(rules.kind)):
        if position < rules.first[r]:
            at = _code(rules, r, row)
            if rules.kind[r] == EACH:
                if at > rules.start[r]:
                    rules.counts[at] += more
            elif rules.kind[r] <= LEAST and rules.fits[at]:
                rules.counts[rules.start[r]] += more


@leaf
def _full(rules: Rules, r: int, row: int) -> bool:
    """Whether one more item like this would be too many for a rule that says at most."""
    at = _code(rules, r, row)
    if rules.kind[r] == EACH:
        return at > rules.start[r] and rules.counts[at] >= rules.n[r]
    return rules.fits[at] and rules.counts[rules.start[r]] >= rules.n[r]


@leaf
def _too_near(rules: Rules, r: int, row: int, out: Any, position: int) -> bool:
    """Whether an item like this one stands within so many positions, above or below."""
    codes = rules.codes[rules.attribute[r]]
    if codes[row] < 0:
        return False
    near = False
    for other in range(max(0, position - rules.n[r] + 1), min(len(out), position + rules.n[r])):
        near = near or (other != position and out[other] >= 0 and codes[out[other]] == codes[row])
    return near


@leaf
def _forbids(rules: Rules, r: int, row: int, out: Any, position: int) -> bool:
    """Whether a rule that is no quota forbids an item."""
    kind = rules.kind[r]
    if kind == ONLY:
        return not _fits(rules, r, row)
    if kind == APART:
        return _too_near(rules, r, row, out, position)
    return kind != LEAST and position < rules.first[r] and _full(rules, r, row)


@leaf
def _free(out: Any, begin: int, end: int) -> int:
    """How many positions are free."""
    free = 0
    for position in range(begin, min(end, len(out))):
        free += out[position] < 0
    return free


# Quotas


@inner
def _reach(rules: Rules, quota: int, row: int, wanted: int) -> int:
    """How many items, at most ``wanted``, can still serve a quota once ``row`` (-1: none) stands in the list.

    They are taken as they come, under the rules that say "at most" over at least the positions of the quota. Where
    these are of one attribute, no other choice has more.
    """
    if row >= 0:
        _count(rules, row, 0, 1)
    found = 0
    for i in range(len(rules.servers)):
        if found == wanted:
            break
        server = rules.servers[i]
        if rules.taken[server] or server == row or not _fits(rules, quota, server):
            continue
        free = True
        for r in range(len(rules.kind)):
            if rules.on[r] and rules.kind[r] <= MOST and rules.first[r] >= rules.first[quota]:
                free = free and not _full(rules, r, server)
        if free:
            _count(rules, server, 0, 1)
            rules.picked[found] = server
            found += 1
    for i in range(found):
        _count(rules, rules.picked[i], 0, -1)
    if row >= 0:
        _count(rules, row, 0, -1)
    return found


@inner
def _short(rules: Rules, row: int, out: Any, position: int) -> int:
    """By how many positions quotas are short once ``row`` (-1: none that fits) stands here; 0 if they are not."""
    worst = 0
    for r in range(len(rules.kind)):
        if rules.needed[r] == 0:
            continue
        need = 0
        for q in range(len(rules.kind)):
            if rules.needed[q] > 0 and rules.first[q] <= rules.first[r]:
                need += rules.needed[q] - (row >= 0 and _fits(rules, q, row))
        worst = max(worst, need - _free(out, position + 1, rules.first[r]))
    return worst


@inner
def _look_at_quotas(rules: Rules, out: Any, position: int) -> None:
    """What quotas need at this position, and by how many positions they may be short: by as few as can be."""
    any_needed = False
    for r in range(len(rules.kind)):
        rules.needed[r] = 0
    for r in range(len(rules.kind)):
        if rules.kind[r] == LEAST and rules.on[r] and position < rules.first[r]:
            wanted = min(rules.n[r] - rules.counts[rules.start[r]], _free(out, position, rules.first[r]))
            rules.needed[r] = _reach(rules, r, -1, wanted) if wanted > 0 else 0
            any_needed = any_needed or rules.needed[r] > 0
    rules.target[0] = 0
    if not any_needed:
        return
    least = _short(rules, -1, out, position)
    if least > 0:
        for i in range(len(rules.servers)):
            row = rules.servers[i]
            if least == 0:
                break
            if rules.taken[row]:
                continue
            allowed = True
            for r in range(len(rules.kind)):
                allowed = allowed and not (rules.on[r] and _forbids(rules, r, row, out, position))
            if allowed:
                least = min(least, _short(rules, row, out, position))
    rules.target[0] = least


@leaf
def barred_by(rules: Rules, row: int, out: Any, position: int) -> int:
    """The rule that does not allow an item at a position, the first of several; quotas after all others. -1 if none."""
    by, some_needed = -1, False
    for r in range(len(rules.kind)):
        if rules.on[r] and _forbids(rules, r, row, out, position):
            by = r
            break
        some_needed = some_needed or rules.needed[r] > 0
    if by < 0 and some_needed:
        by = _barred_by_quota(rules, row, out, position)
    return by


@inner
def _barred_by_quota(rules: Rules, row: int, out: Any, position: int) -> int:
    """The quota that could not be met any more with an item at a position; -1 if none."""
    short = _short(rules, row, out, position) > rules.target[0]
    for r in range(len(rules.kind)):
        if rules.needed[r] > 0:
            left = rules.needed[r] - _fits(rules, r, row)
            if (short and left == rules.needed[r]) or (left > 0 and _reach(rules, r, row, left) < left):
                return r
    return -1


@leaf
def barred_in_any_order(rules: Rules, row: int, out: Any, position: int) -> bool:
    """Whether a rule forbids an item here whatever the order of those above: all but "no two of one within".

    That goes for quotas as long as they can all be met; see ``target``.
    """
    barred, some_needed = False, False
    for r in range(len(rules.kind)):
        barred = barred or (rules.kind[r] != APART and _forbids(rules, r, row, out, position))
        some_needed = some_needed or rules.needed[r] > 0
    return barred or (some_needed and _barred_by_quota(rules, row, out, position) >= 0)


# A list from its first to its last position


@inner
def begin(rules: Rules, pool: Any, out: Any) -> int:
    """Start a list in which some positions are filled already; how many rows of ``pool`` may serve a quota.

    ``rules.servers`` gets them: use its first so many.
    """
    quotas = False
    for r in range(len(rules.kind)):
        rules.on[r] = True
        rules.needed[r] = 0
        quotas = quotas or rules.kind[r] == LEAST
    for position in range(len(out)):
        if out[position] >= 0:
            rules.taken[out[position]] = True
            _count(rules, out[position], position, 1)
    found = 0
    if quotas:
        for row in pool:
            serves, allowed = False, not rules.taken[row]
            for r in range(len(rules.kind)):
                if rules.kind[r] == LEAST:
                    serves = serves or _fits(rules, r, row)
                elif rules.kind[r] == ONLY:
                    allowed = allowed and _fits(rules, r, row)
            if serves and allowed:
                rules.servers[found] = row
                found += 1
    return found


@inner
def open_position(rules: Rules, out: Any, position: int) -> None:
    """All rules hold at this position, until :func:`relax` says otherwise."""
    for r in range(len(rules.kind)):
        rules.on[r] = True
    _look_at_quotas(rules, out, position)


@inner
def fill_position(rules: Rules, out: Any, position: int, row: int) -> None:
    """Put an item at a position."""
    out[position] = row
    rules.taken[row] = True
    _count(rules, row, position, 1)


@inner
def relax(rules: Rules, pool: Any, out: Any, position: int) -> None:
    """No item is allowed here: let as few rules go as can be, filters last, and of the others the last given first.

    Rules are taken in order of importance (filters, then the others as given), and each stays on if with those before
    it some item is allowed.
    """
    for r in range(len(rules.kind)):
        rules.on[r] = False
    for turn in range(2):
        for r in range(len(rules.kind)):
            if (rules.kind[r] == ONLY) != (turn == 0):
                continue
            rules.on[r] = True
            _look_at_quotas(rules, out, position)
            some = False
            for row in pool:
                if not rules.taken[row] and barred_by(rules, row, out, position) < 0:
                    some = True
                    break
            rules.on[r] = some
    _look_at_quotas(rules, out, position)


@inner
def find_broken(rules: Rules, out: Any, broken: Any) -> None:
    """At which positions of a list which rules do not hold: ``broken`` (k, R).

    An item is too many, or too near to one above, or does not fit. A quota that is not met shows at the last of its
    positions.
    """
    for r in range(len(rules.kind)):
        kind, fitting = rules.kind[r], 0
        codes = rules.codes[rules.attribute[r]]
        for position in range(len(out)):
            row = out[position]
            fits = _fits(rules, r, row)
            inside = position < rules.first[r]
            fitting += inside and fits
            bad = False
            if kind == ONLY:
                bad = not fits
            elif kind == MOST:
                bad = inside and fits and fitting > rules.n[r]
            elif kind == LEAST:
                bad = position == min(rules.first[r], len(out)) - 1 and fitting < rules.n[r]
            elif codes[row] >= 0 and (inside or kind == APART):
                alike = 0
                for above in range(max(0, position - rules.n[r] + 1) if kind == APART else 0, position):
                    alike += codes[out[above]] == codes[row]
                bad = alike >= (1 if kind == APART else rules.n[r])
            broken[position, r] = bad


@inner
def with_servers(rules: Rules, found: int) -> Rules:
    """The rules with the first so many servers."""
    return Rules(
        rules.kind, rules.attribute, rules.n, rules.first, rules.start, rules.fits, rules.codes, rules.counts, rules.on,
        rules.needed, rules.servers[:found], rules.picked, rules.taken, rules.target,
    )  # fmt: skip


@entry
def fill_in_order(rules: Rules, order: Any, out: Any, held: Any, held_by: Any, broken: Any) -> None:
    """Fill the free positions (-1) of ``out``, each with the first row of ``order`` that is allowed there.

    ``held`` (k) gets the index to ``order`` of the first row that a rule did not allow, where it came before the one
    chosen, and ``held_by`` that rule; both are -1 elsewhere. ``broken`` (k, R): see :func:`find_broken`.
    """
    ruled = with_servers(rules, begin(rules, order, out))
    low = 0
    for position in range(len(out)):
        held[position] = -1
        held_by[position] = -1
        if out[position] >= 0:
            continue
        while ruled.taken[order[low]]:
            low += 1
        open_position(ruled, out, position)
        found = _first_allowed(ruled, order, low, out, position)
        if found < 0:
            relax(ruled, order, out, position)
            found = _first_allowed(ruled, order, low, out, position)
        if found > low:
            held[position] = low
            held_by[position] = barred_by(ruled, order[low], out, position)
        fill_position(ruled, out, position, order[found])
    find_broken(ruled, out, broken)


@inner
def _first_allowed(rules: Rules, order: Any, low: int, out: Any, position: int) -> int:
    """The index of the first row that is allowed at a position; -1 if none is."""
    for i in range(low, len(order)):
        if not rules.taken[order[i]] and barred_by(rules, order[i], out, position) < 0:
            return i
    return -1


@entry
def draw(rules: Rules, pool: Any, coins: Any, given: Any, out: Any, broken: Any, chances: Any) -> float:
    """Fill the free positions (-1) of ``out``, each with one of the rows of ``pool`` that are allowed there.

    At a position all of them are equally likely; ``coins`` (k) from [0, 1) say which is taken. Where ``given`` (k) has
    a row and no -1, that one is taken. Returns how likely the whole list is to be drawn: 0 if it cannot be; and writes
    to ``chances`` (k) how likely each row is, given those above it: 1 where it was held.
    """
    ruled = with_servers(rules, begin(rules, pool, out))
    chance = 1.0
    for position in range(len(out)):
        chances[position] = 1.0
        if out[position] >= 0:
            continue
        open_position(ruled, out, position)
        count = _count_allowed(ruled, pool, out, position)
        if count == 0:
            relax(ruled, pool, out, position)
            count = _count_allowed(ruled, pool, out, position)
        row = given[position]
        if row < 0:
            row = _nth_allowed(ruled, pool, out, position, min(int(coins[position] * count), count - 1))
        elif barred_by(ruled, row, out, position) >= 0:
            chance = chances[position] = 0.0
        chance /= count
        chances[position] /= count
        fill_position(ruled, out, position, row)
    find_broken(ruled, out, broken)
    return chance


@inner
def _count_allowed(rules: Rules, pool: Any, out: Any, position: int) -> int:
    """How many rows are allowed at a position."""
    count = 0
    for row in pool:
        count += not rules.taken[row] and barred_by(rules, row, out, position) < 0
    return count


@inner
def _nth_allowed(rules: Rules, pool: Any, out: Any, position: int, n: int) -> int:
    """The n-th of the rows that are allowed at a position, from 0 on."""
    for row in pool:
        if not rules.taken[row] and barred_by(rules, row, out, position) < 0:
            if n == 0:
                return row
            n -= 1
    return -1
