"""A few threads for many transfers. The first failure ends the rest and is raised."""

from typing import Any, Callable, Iterable, List

THREADS = 4


def in_parallel(work: Callable[[Any], Any], items: Iterable[Any], threads: int = THREADS) -> List[Any]:
    """[work(item) for item in items], some at a time, in order. Example: `in_parallel(fetch, names)`"""
    todo = list(items)
    if len(todo) < 2:
        return [work(item) for item in todo]
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(min(threads, len(todo)))
    try:
        pending = [pool.submit(work, item) for item in todo]
        try:
            return [one.result() for one in pending]
        except BaseException:
            for one in pending:
                one.cancel()
            raise
    finally:
        pool.shutdown()
