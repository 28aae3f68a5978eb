"""The log of results: pages by number, by query, and what is forgotten."""

import numpy as np

from cqc.runtime.serve.records.result_log import Piece, ResultLog, piece_of


def piece(first: int, *queries: int) -> Piece:
    text = b"".join(b'{"at": %d}\n' % (first + at) for at in range(len(queries)))
    return piece_of(first, text, np.array(queries, np.int64))


def numbers(log: ResultLog, start: int, query: int | None = None, most: int = 500) -> list[int]:
    return [number for number, _ in log.read(start, query, most).lines]


def test_results_are_read_from_a_number_on() -> None:
    log = ResultLog(10_000)
    log.append([piece(1, 7, 8), piece(3, 7)])
    assert numbers(log, 0) == [1, 2, 3]
    assert numbers(log, 2) == [2, 3]
    assert log.read(3).lines == [(3, b'{"at": 3}')]
    assert log.read(4).next == 4
    assert log.next_number == 4


def test_a_page_ends_where_it_is_full_and_says_where_to_go_on() -> None:
    log = ResultLog(10_000)
    log.append([piece(1, 7, 8, 7), piece(4, 8, 7)])
    page = log.read(1, 7, most=2)
    assert ([number for number, _ in page.lines], page.next) == ([1, 3], 4)
    assert numbers(log, page.next, 7) == [5]


def test_a_reader_of_a_silent_query_moves_on() -> None:
    log = ResultLog(10_000)
    log.append([piece(1, 7, 7, 7)])
    page = log.read(1, 99)
    assert (page.lines, page.next, page.lost) == ([], 4, False)


def test_the_oldest_results_are_forgotten_and_their_reader_is_told() -> None:
    log = ResultLog(1)
    log.append([piece(1, 7)])
    log.append([piece(2, 7, 7)])
    assert log.oldest == 2
    assert log.read(1).lost
    assert not log.read(2).lost
    assert numbers(log, 1) == [2, 3]


def test_an_empty_log_loses_nothing() -> None:
    log = ResultLog(1, next_number=5)
    assert (log.oldest, log.read(5).lost, log.read(4).lost) == (5, False, True)
