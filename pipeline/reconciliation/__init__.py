"""Recomputation of a run's figures from its tables.

The ledger's identities are rules (:mod:`pipeline.rules.fill_rules`, :mod:`pipeline.rules.book_rules`,
:mod:`pipeline.rules.target_rules`); this package has their arithmetic, as functions of arrays. The run's own figures are
recomputed in :mod:`pipeline.reconciliation.figures` under the conventions listed in
:mod:`pipeline.reconciliation.conventions`.
"""
