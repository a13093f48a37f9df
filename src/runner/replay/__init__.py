"""The loopback Messages API: a scripted model for the demo, `--replay` and the tests."""
