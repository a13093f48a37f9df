"""The loopback Messages API: a scripted model for the demo, `--replay` and the tests."""

from runner.replay.ask import Ask
from runner.replay.player import Divergence
from runner.replay.script import ModelScript, load_script, parse_script
from runner.replay.server import ScriptedModel

__all__ = ["Ask", "Divergence", "ModelScript", "ScriptedModel", "load_script", "parse_script"]
