"""Shell analysis, command rules, path policy, tool policy."""
