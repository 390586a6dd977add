"""What every part leans on, and that knows nothing of bandits."""
