"""`runner report`: the facts of `runner.reporting` as text, as data, and as one HTML page."""
