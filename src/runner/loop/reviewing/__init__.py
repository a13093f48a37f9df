"""What reviewers of plans and phases get to see, and what becomes of their verdicts."""
