"""The numba interpreter of heuristics: rescalings with search="greedy" or "one-pass", which never certify.

Both walk from the empty set: greedy takes the element that raises the objective most until none does, one-pass takes
every element in the order of the data if it raises the objective.
"""

from __future__ import annotations

from setloss.compilation import kernel
from setloss.plans.formulas import objective, value_at
from setloss.plans.records import GREEDY
from setloss.plans.sorting import sort_elements


@kernel()
def _next_of(partition, order, position, wanted):
    """The first position in `order`, from `position` on, of an element of the wanted group."""
    while position < len(order) and partition[order[position]] != wanted:
        position += 1
    return position


@kernel()
def _greedy(margins, partition, plan, tables, order, counts, places, chosen):
    """Of the next element of every group take the best one, as long as it raises the objective."""
    sizes, values = tables
    loss = value = total = 0.0
    for b in range(plan.axes):
        counts[b], places[b] = 0, _next_of(partition, order, 0, b)
    while True:
        best, best_loss, best_group = value, 0.0, -1
        for b in range(plan.axes):
            if counts[b] < sizes[b]:
                counts[b] += 1
                candidate = value_at(counts, plan, sizes, values)
                counts[b] -= 1
                raised = objective(plan.margin, candidate, total + margins[order[places[b]]], plan.scale)
                if raised > best:
                    best, best_loss, best_group = raised, candidate, b
        if best_group < 0:
            return loss, value
        i = order[places[best_group]]
        chosen[i] = True
        total += margins[i]
        loss, value = best_loss, best
        counts[best_group] += 1
        places[best_group] = _next_of(partition, order, places[best_group] + 1, best_group)


@kernel()
def _one_pass(margins, partition, plan, tables, counts, chosen):
    """Every element once, in the order of the data; it stays if it raises the objective."""
    sizes, values = tables
    loss = value = total = 0.0
    for b in range(plan.axes):
        counts[b] = 0
    for i in range(len(margins)):
        counts[partition[i]] += 1
        candidate = value_at(counts, plan, sizes, values)
        raised = objective(plan.margin, candidate, total + margins[i], plan.scale)
        if raised > value:
            chosen[i] = True
            loss, value, total = candidate, raised, total + margins[i]
        else:
            counts[partition[i]] -= 1
    return loss, value


@kernel()
def write_inexact_cuts(data, plans, room, out):
    """The cuts of all bags; `out` receives slopes, chosen sets, and offset and what the search saw."""
    margins, starts, partitions, which = data
    records, sizes, values = plans
    order, spare, counts, places = room
    slopes, chosen, totals = out
    for i in range(len(which)):
        lo, hi, plan = starts[i], starts[i + 1], records[which[i]]
        here, partition, picked, tables = margins[lo:hi], partitions[lo:hi], chosen[lo:hi], (sizes[which[i]], values)
        for e in range(hi - lo):
            picked[e], order[e] = False, e
        if plan.search == GREEDY:
            sort_elements(here, order[: hi - lo], spare[: hi - lo], None)
            loss, value = _greedy(here, partition, plan, tables, order[: hi - lo], counts, places, picked)
        else:
            loss, value = _one_pass(here, partition, plan, tables, counts, picked)
        rate = plan.scale if plan.margin else plan.scale * loss
        for e in range(hi - lo):
            slopes[lo + e] = rate if picked[e] else 0.0
        totals[i, 0], totals[i, 1] = loss, value
