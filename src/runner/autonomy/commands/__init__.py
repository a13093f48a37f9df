"""The commands of the control plane, a module for each group."""
