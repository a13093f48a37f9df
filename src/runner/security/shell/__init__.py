"""A strict, fail-closed reading of shell scripts: what would bash run, with which words."""
