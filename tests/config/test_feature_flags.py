"""Feature flags: names, precedence, and combinations that make no sense."""

import pytest

from runner.config.feature_flags import FEATURE_FLAGS, FeatureFlags, resolve_flags
from runner.errors import ConfigError


def test_all_flags_of_seed_000_are_on_but_the_signed_evidence() -> None:
    off = [name for name, flag in FEATURE_FLAGS.items() if not flag.default]
    assert (len(FEATURE_FLAGS), off) == (10, ["autonomy_signed_gate_evidence"])


def test_the_environment_goes_before_the_file() -> None:
    variable = "AUTORUNNER_FEATURE_AUTONOMY_REBASE"
    flags = resolve_flags({"autonomy_rebase": True}, {variable: "off"})
    setting = flags.settings["autonomy_rebase"]
    assert (setting.value, setting.origin) == (False, variable)


def test_the_file_goes_before_the_default() -> None:
    setting = resolve_flags({"autonomy_rebase": False}, {}).settings["autonomy_rebase"]
    assert (setting.value, setting.origin) == (False, "runner.toml")


def test_an_empty_variable_says_nothing() -> None:
    flags = resolve_flags({}, {"AUTORUNNER_FEATURE_AUTONOMY_REBASE": ""})
    assert flags.settings["autonomy_rebase"].origin == "default"


@pytest.mark.parametrize(
    ("written", "environ", "hint"),
    [
        ({"autonomy_rebas": True}, {}, "Did you mean autonomy_rebase?"),
        ({}, {"AUTORUNNER_FEATURE_AUTONOMY_REBAS": "1"}, "AUTORUNNER_FEATURE_AUTONOMY_REBASE?"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(
    written: dict[str, bool], environ: dict[str, str], hint: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        resolve_flags(written, environ)
    assert hint in (raised.value.hint or "")


def test_a_value_that_is_neither_true_nor_false_is_an_error() -> None:
    with pytest.raises(ConfigError, match="must be true or false, got 'maybe'"):
        resolve_flags({}, {"AUTORUNNER_FEATURE_AUTONOMY_REBASE": "maybe"})


def test_every_need_is_a_flag_itself_and_stands_before() -> None:
    names = list(FEATURE_FLAGS)
    needs = {need for flag in FEATURE_FLAGS.values() for need in flag.needs}
    assert needs <= set(names)


def test_a_feature_is_off_when_one_that_it_needs_is_off() -> None:
    flags = resolve_flags({"autonomy_step_proofs": False}, {})
    assert flags.first_off("autonomy_write_lock") == "autonomy_step_proofs"


def test_an_inconsistent_combination_is_warned_about() -> None:
    [warning] = resolve_flags({"autonomy_step_proofs": False}, {}).warnings()
    assert "autonomy_step_proofs is off" in warning
    assert "autonomy_write_lock has no effect" in warning


def test_a_consistent_combination_is_not_warned_about() -> None:
    off = {"autonomy_fidelity_gates": False, "autonomy_auto_gate_retry": False}
    assert resolve_flags(off, {}).warnings() == ()


def test_the_defaults_are_consistent() -> None:
    assert FeatureFlags().warnings() == ()
