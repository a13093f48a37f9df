"""Presenters: what a run looks like to people and to programs (CONTRACT §3)."""

from runner.cli.presenter.base import Presenter
from runner.cli.presenter.factory import OutputFormat, make_presenter

__all__ = ["OutputFormat", "Presenter", "make_presenter"]
