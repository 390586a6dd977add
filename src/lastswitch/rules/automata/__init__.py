"""Rules as automata that step round by round: for planning, learning and playing."""
