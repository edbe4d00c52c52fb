"""Corpora: many small cases in one test that reports every failing one, not only the first."""


def check_each(cases, check):
    """Calls check(case) for every case; fails with all the cases that failed."""
    failed = []
    for case in cases:
        try:
            check(case)
        except Exception as failure:  # whatever is wrong with one case, the others are still tried
            failed.append(f"{str(case)[:120]!r}: {type(failure).__name__}: {str(failure)[:500]}")
    assert not failed, f"{len(failed)} of {len(cases)} cases failed:\n" + "\n".join(failed)
