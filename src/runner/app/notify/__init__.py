"""Report how a run goes to people and programs outside: a command, a webhook, GitHub."""
