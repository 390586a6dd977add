"""The certified search: a Lagrangian bound, a widening beam, and proofs by merging diagrams."""
