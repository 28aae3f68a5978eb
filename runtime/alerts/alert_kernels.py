"""What observations do to alerts: which matter to which, and the life of a key.

A key that has or had something to do with an alert has an *entry*; those of one key are a chain, in the order of their alerts.
Rows of a packet and the alerts for which they are bad come in the same order, so one walk along both finds all *steps*: pairs of
an observation and an entry that it may change. A good observation of a key that is inactive for an alert is no step, so what
a packet costs depends on what is bad in it and on the keys that are pending or firing, and not on how many alerts there are.
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit

INACTIVE, PENDING, FIRING = 0, 1, 2  # states of an entry
TOLD_PENDING, TOLD_FIRING, TOLD_REPEATED, TOLD_RESOLVED, TOLD_NO_DATA = 0, 1, 2, 3, 4
NEVER = -(2**63)
TOLD, CLEARED = (
    1,
    2,
)  # marks of an entry: its firing was delivered; an observation was clear since the last bad one

# Columns of `times`, of an entry.
SINCE, LAST, FIRST_GOOD, DELIVERED = 0, 1, 2, 3
# Columns of `terms`, of an alert: durations (0: none), and whether it tells of pending ones.
HOLD, KEEP, ONCE, NO_DATA, TELLS_PENDING, SINCE_ARRIVAL = 0, 1, 2, 3, 4, 5


@njit(cache=True, nogil=True)
def find_steps(  # type: ignore[no-untyped-def]
    first,
    keys,
    arrivals,
    bad_ends,
    bad_alerts,
    heads,
    links,
    key_of,
    alert_of,
    is_live,
    times,
    terms,
    count,
    steps,
):
    """Steps of the rows from `first` on: (row, entry, is bad) each; new entries for keys that are bad for the first time.

    `links` and `alert_of` have room for an entry for each bad pair. Returns the row that comes next, how many steps and how many
    entries there are: a row whose steps do not fit is left for the next call.
    """
    made = 0
    for row in range(first, len(keys)):
        key = keys[row]
        if key < 0:  # nothing was ever bad of it
            continue
        bad = bad_ends[row - 1] if row else 0
        last_bad = bad_ends[row]
        entry, before = heads[key], -1
        begun = made
        while entry >= 0 or bad < last_bad:
            if made == len(steps):
                # What was made of this row is made again: an entry that is there already does no harm.
                return row, begun, count
            if entry >= 0 and (bad == last_bad or alert_of[entry] < bad_alerts[bad]):
                if is_live[entry] and arrivals[row] >= terms[alert_of[entry], SINCE_ARRIVAL]:
                    steps[made, 0], steps[made, 1], steps[made, 2] = row, entry, 0
                    made += 1
                before, entry = entry, links[entry]
                continue
            if entry < 0 or alert_of[entry] > bad_alerts[bad]:
                key_of[count], alert_of[count] = key, bad_alerts[bad]
                times[count] = NEVER
                links[count] = entry
                if before < 0:
                    heads[key] = count
                else:
                    links[before] = count
                entry = count
                count += 1
            is_live[entry] = True
            steps[made, 0], steps[made, 1], steps[made, 2] = row, entry, 1
            made += 1
            bad += 1
            before, entry = entry, links[entry]
    return len(keys), made, count


@njit(cache=True, nogil=True)
def take_steps(  # type: ignore[no-untyped-def]
    steps, order, clear, ts, base, alert_of, terms, times, counts, states, marks, lasts, events
):
    """Let entries live through their steps, in some order; what is told goes to `events`, of which a step has two at most.

    An event is (what is told, entry, row of the observation, time, since, count); rows are numbered from `base` on, those before it
    are kept from earlier. Returns how many there are, and up to which watermark no key that was touched is silent for too long.
    What is written to `lasts` says that a row is one of these, until `number_lasts` knows which of them are kept.
    """
    made = 0
    following = np.int64(2**63 - 1)
    for at in range(len(order)):
        step = order[at]
        row, entry, is_bad = steps[step, 0], steps[step, 1], steps[step, 2]
        now = ts[row]
        alert = alert_of[entry]
        hold, keep = terms[alert, HOLD], terms[alert, KEEP]
        once, no_data = terms[alert, ONCE], terms[alert, NO_DATA]
        state = states[entry]
        if state != INACTIVE and no_data > 0 and now > times[entry, LAST] + no_data:
            if state == FIRING and marks[entry] & TOLD:
                last = lasts[entry] if lasts[entry] >= 0 else base - 1 - lasts[entry]
                made = _tell(
                    events, made, TOLD_NO_DATA, entry, last, times[entry, LAST] + no_data,
                    times[entry, SINCE], counts[entry],
                )  # fmt: skip
            state = INACTIVE
        fires = False
        what = -1
        if is_bad:
            if state == INACTIVE:
                times[entry, SINCE] = now
                counts[entry] = 1
                if hold > 0:
                    state = PENDING
                    if terms[alert, TELLS_PENDING] > 0:
                        what = TOLD_PENDING
                else:
                    fires = True
            else:
                counts[entry] += 1
                fires = state == PENDING and now >= times[entry, SINCE] + hold
                if state == FIRING:
                    times[entry, FIRST_GOOD] = NEVER
                    marks[entry] &= TOLD
                    if once > 0 and now >= times[entry, DELIVERED] + once:
                        what = TOLD_REPEATED
            if fires:
                state = FIRING
                times[entry, FIRST_GOOD] = NEVER
                marks[entry] = 0
                delivered = times[entry, DELIVERED]
                if once == 0 or delivered == NEVER or now >= delivered + once:
                    what = TOLD_FIRING
            if what > 0:
                times[entry, DELIVERED] = now
                marks[entry] |= TOLD
        elif state == PENDING:
            state = INACTIVE
        elif state == FIRING:
            if times[entry, FIRST_GOOD] == NEVER:
                times[entry, FIRST_GOOD] = now
            if clear[step]:
                marks[entry] |= CLEARED
            if now >= times[entry, FIRST_GOOD] + keep and marks[entry] & CLEARED:
                state = INACTIVE
                what = TOLD_RESOLVED if marks[entry] & TOLD else -1
        if what >= 0:
            made = _tell(
                events, made, what, entry, base + row, now, times[entry, SINCE], counts[entry]
            )
        states[entry] = state
        times[entry, LAST] = now
        lasts[entry] = -1 - row
        if no_data > 0 and state != INACTIVE:
            following = min(following, now + no_data)
    return made, following


@njit(cache=True, nogil=True)
def number_lasts(steps, lasts, base, rows):  # type: ignore[no-untyped-def]
    """Which of so many rows are the last one of an entry; those are numbered from `base` on, and `lasts` says so."""
    places = np.full(rows, -1, np.int64)
    for step in range(len(steps)):
        last = lasts[steps[step, 1]]
        if last < 0:
            places[-1 - last] = 0
    kept = np.empty(rows, np.int64)
    count = 0
    for row in range(rows):
        if places[row] == 0:
            places[row] = base + count
            kept[count] = row
            count += 1
    for step in range(len(steps)):
        entry = steps[step, 1]
        if lasts[entry] < 0:
            lasts[entry] = places[-1 - lasts[entry]]
    return kept[:count]


@njit(cache=True, nogil=True)
def remember(alert_of, terms, times, states, now, needed):  # type: ignore[no-untyped-def]
    """Mark entries that are pending or firing, or that ONCE EVERY looks back at from `now` on. Returns how many."""
    count = 0
    for entry in range(len(alert_of)):
        once, delivered = terms[alert_of[entry], ONCE], times[entry, DELIVERED]
        looks_back = once > 0 and delivered != NEVER and delivered + once > now
        needed[entry] = states[entry] != INACTIVE or looks_back
        count += needed[entry]
    return count


@njit(cache=True, nogil=True)
def by_row(rows, alerts, row_count, alert_count):  # type: ignore[no-untyped-def]
    """Pairs of a row and an alert in the order of rows, then of alerts: where those of each row end, and the alerts."""
    begins = np.zeros(alert_count + 1, np.int64)
    for pair in range(len(rows)):
        begins[alerts[pair] + 1] += 1
    for alert in range(alert_count):
        begins[alert + 1] += begins[alert]
    order = np.empty(len(rows), np.int64)
    for pair in range(len(rows)):
        alert = alerts[pair]
        order[begins[alert]] = pair
        begins[alert] += 1
    ends = np.zeros(row_count, np.int64)
    for pair in range(len(rows)):
        ends[rows[pair]] += 1
    total = 0
    for row in range(row_count):
        total, ends[row] = total + ends[row], total
    found = np.empty(len(rows), np.int64)
    for at in range(len(order)):
        pair = order[at]
        row = rows[pair]
        found[ends[row]] = alerts[pair]
        ends[row] += 1
    return ends, found


@njit(cache=True, nogil=True, inline="always")
def _tell(events, made, what, entry, row, now, since, count):  # type: ignore[no-untyped-def]
    events[made, 0], events[made, 1], events[made, 2] = what, entry, row
    events[made, 3], events[made, 4], events[made, 5] = now, since, count
    return made + 1


@njit(cache=True, nogil=True)
def expire(watermark, alert_of, terms, times, counts, states, marks, lasts, events):  # type: ignore[no-untyped-def]
    """End keys that were silent for too long. Returns how many events there are, and up to which watermark no other key will be."""
    made = 0
    following = np.int64(2**63 - 1)
    for entry in range(len(alert_of)):
        no_data = terms[alert_of[entry], NO_DATA]
        if states[entry] == INACTIVE or no_data == 0:
            continue
        until = times[entry, LAST] + no_data
        if watermark <= until:
            following = min(following, until)
            continue
        if states[entry] == FIRING and marks[entry] & TOLD:
            made = _tell(
                events, made, TOLD_NO_DATA, entry, lasts[entry], until,
                times[entry, SINCE], counts[entry],
            )  # fmt: skip
        states[entry] = INACTIVE
    return made, following


@njit(cache=True, nogil=True)
def link_entries(keys, alert_of, order, heads, links):  # type: ignore[no-untyped-def]
    """The chains of entries anew; `order` has them by alert, the last one first."""
    for at in range(len(order)):
        entry = order[at]
        links[entry] = heads[keys[entry]]
        heads[keys[entry]] = entry


def warm() -> None:
    """Compile the kernels."""
    rows = np.arange(2)
    terms = np.zeros((1, 6), np.int64)
    heads, links = np.full(2, -1, np.int64), np.zeros(4, np.int64)
    key_of, alert_of = np.zeros(4, np.int64), np.zeros(4, np.int64)
    steps, bad = np.zeros((4, 3), np.int64), np.zeros(2, np.int64)
    times = np.full((4, 4), NEVER, np.int64)
    _, made, count = find_steps(
        0,
        rows,
        rows,
        rows + 1,
        bad,
        heads,
        links,
        key_of,
        alert_of,
        np.zeros(4, np.bool_),
        times,
        terms,
        0,
        steps,
    )
    numbers = np.zeros(4, np.int64)
    states, marks, events = np.zeros(4, np.int8), np.zeros(4, np.int8), np.zeros((8, 6), np.int64)
    clear, order = np.zeros(made, np.bool_), np.arange(made)
    state = (times, numbers, states, marks, numbers.copy(), events)
    take_steps(steps[:made], order, clear, rows, 0, alert_of, terms, *state)
    number_lasts(steps[:made], state[4], 0, len(rows))
    remember(alert_of[:count], terms, times, states, 0, np.zeros(count, np.bool_))
    by_row(rows, bad, len(rows), 1)
    expire(5, alert_of[:count], terms, *state)
    link_entries(key_of, alert_of, np.arange(count), heads, links)
