"""Numbers in, numbers out: what may be concluded from counts of runs.

One module a family of questions: intervals for rates, paired and exact tests, within-item permutation, families of
tests, reliability, planning. Nothing here knows what a run is; the item (task) is the unit of every test. scipy and
statsmodels are imported by the functions that need them, so this room can be imported without the `stats` extra.
docs/methods.md has a page on each statistic.
"""
