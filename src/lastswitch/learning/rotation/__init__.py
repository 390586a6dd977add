"""The rotation learner: books, belief, tables, plans, and the policy that has it."""
