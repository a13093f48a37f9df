"""Record the model traffic of a run as a script that can be played again."""

from runner.replay.recording.proxy import Recorder

__all__ = ["Recorder"]
