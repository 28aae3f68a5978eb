"""What a misspelt word was probably meant to be.

Edit distance with transpositions (optimal string alignment), case folded. A suggestion must be close: at most one edit in
three characters, so that `presure` finds `pressure` and `x` does not find `y`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def edit_distance(left: str, right: str, limit: int) -> int:
    """Insertions, deletions, replacements and exchanges of neighbours; anything over `limit` is `limit + 1`."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, char in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            best = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (char != other),
            )
            if row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other:
                best = min(best, before[column - 2] + 1)
            current.append(best)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return min(previous[-1], limit + 1)


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to a word, or None when none is near (ties: the first).

    Example:
        closest("presure", ["ts", "pressure"]) == "pressure"
    """
    wanted = word.lower()
    limit = (len(wanted) + 2) // 3
    best, best_distance = None, limit + 1
    for candidate in candidates:
        folded = candidate.lower()
        distance = edit_distance(wanted, folded, best_distance - 1)
        # Replacing every letter is not a spelling mistake.
        if distance < best_distance and distance < max(len(wanted), len(folded)):
            best, best_distance = candidate, distance
            if distance == 0:
                break
    return best


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A hint naming the closest candidate, or None."""
    found = closest(word, candidates)
    return None if found is None else f"Did you mean `{found}`?"
