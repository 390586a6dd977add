"""Decision diagrams of arms and of the automata they share: building, minimising, merging."""
