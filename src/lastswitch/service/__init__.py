"""Decisions over HTTP: rotations, subjects and rewards in a database, and a page to see them.

Data flows one way: a request is checked (:mod:`~lastswitch.service.gate`), routed to its endpoint
(:mod:`~lastswitch.service.decisions_api`), becomes an operation
(:mod:`~lastswitch.service.contract`) on rows read from the database
(:mod:`~lastswitch.service.store`), is decided by the rotation's decider
(:mod:`~lastswitch.service.deciders`), and is answered once its rows and its lines of the journal
are committed (:mod:`~lastswitch.service.worker`). The journal is the truth; what learners believe
is a fold of it (:mod:`~lastswitch.service.rotations`).
"""
