"""The paper's learners, which choose whole blocks, and the doubling trick."""
