"""A plan for every subject of a cohort, within budgets that all of them share."""
