"""Checks for commands with a language of their own, named from the profiles by `validator`.

One module per family; this is the one registry.
"""

from collections.abc import Callable

from runner.shell_policy.context import CommandCall
from runner.shell_policy.validators import (
    awk,
    build,
    builtins,
    compilers,
    copying,
    databases,
    debugging,
    finding,
    git,
    git_work,
    go_rust,
    inline,
    inspection,
    interpreters,
    jq,
    network,
    packages,
    php_ruby,
    processes,
    programs,
    python,
    sed,
    shells,
    tar,
    web,
    wrapping,
)

Validator = Callable[[CommandCall], None]

VALIDATORS: dict[str, Validator] = {
    name: check
    for module in (
        awk,
        builtins,
        build,
        compilers,
        copying,
        databases,
        debugging,
        finding,
        git,
        git_work,
        go_rust,
        inline,
        inspection,
        interpreters,
        jq,
        network,
        packages,
        php_ruby,
        processes,
        programs,
        python,
        sed,
        shells,
        tar,
        web,
        wrapping,
    )
    for name, check in module.VALIDATORS.items()
}
