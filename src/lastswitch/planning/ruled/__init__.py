"""Planning under rules, with silence and several plays a round.

A ruled problem is a block problem whose rounds play a range of arms each and whose schedule keeps
some rules. Every rule compiles to small counters (:mod:`.counters`). Counters that hear one arm are
folded into that arm's automaton; the others are *monitors*, machines that take no round but move
with the plays they hear (:mod:`.compiled`). All solvers but enumeration work on that form.
"""
