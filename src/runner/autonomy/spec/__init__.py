"""The spec as the control plane sees it: phases, deliverables, and how they changed."""
