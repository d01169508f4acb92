"""What belongs to the paper alone: its grid, its figure, its claims."""
