"""Who may call what: roles, postures, feature flags and the limits on refused calls."""
