"""Turn steps into agent sessions: order, termination, retries, budgets."""
