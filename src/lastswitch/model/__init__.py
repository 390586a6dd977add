"""What is planned and learned: curves, states, bandits, blocks; and bandits to try things on."""
