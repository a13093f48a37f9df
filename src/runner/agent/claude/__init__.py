"""The Claude back end: the only place that knows the SDK and Claude's tool names."""
