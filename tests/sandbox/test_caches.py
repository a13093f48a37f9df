"""Package managers write to the sandbox's cache, and find what the machine has."""

from pathlib import Path

from runner.sandbox.caches import cache_variables

CACHE = Path("/cache")


def test_gems_are_installed_into_the_cache() -> None:
    assert cache_variables(CACHE, {})["GEM_HOME"] == "/cache/gems"


def test_gems_of_the_system_are_found_where_nothing_else_was_set() -> None:
    assert "GEM_PATH" not in cache_variables(CACHE, {})


def test_gems_of_a_home_of_their_own_are_still_found_beside_the_systems() -> None:
    variables = cache_variables(CACHE, {"GEM_HOME": "/usr/local/bundle"})
    assert variables["GEM_PATH"] == "/usr/local/bundle:"


def test_a_search_path_for_gems_is_kept() -> None:
    variables = cache_variables(CACHE, {"GEM_HOME": "/rvm/a", "GEM_PATH": "/rvm/a:/rvm/global"})
    assert variables["GEM_PATH"] == "/rvm/a:/rvm/global:/rvm/a"


def test_options_of_maven_that_are_set_are_kept() -> None:
    variables = cache_variables(CACHE, {"MAVEN_ARGS": "-T2"})
    assert variables["MAVEN_ARGS"] == "-T2 -Dmaven.repo.local=/cache/maven"
