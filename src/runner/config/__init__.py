"""Options, configuration files, environment."""
