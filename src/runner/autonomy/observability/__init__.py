"""What the control plane tells about itself: metrics and structured logs."""
