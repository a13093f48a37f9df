"""What a run did, gathered from the files it left: facts alone, shown by `runner.cli.reporting`."""
