"""True optima: of averages, totals and cycles, for ever and over a horizon."""
