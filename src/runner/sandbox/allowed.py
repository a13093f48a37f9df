"""The variables of the user's environment that enter the box: data, with a reason for each group.

What is not named here, nor by the user, stays outside. A name that ends in `*` stands for all
that begin so; what such a name looks like a credential's is left out all the same.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VariableGroup:
    """Variables that enter for the same reason."""

    reason: str
    names: tuple[str, ...]


PLACES = VariableGroup(
    "who the user is, and where programs and files are; taken as they are",
    (
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "SHLVL", "HOSTNAME", "TMPDIR", "TMP", "TEMP",
        "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS",
        "XDG_DATA_DIRS", "MANPATH", "INFOPATH",
    ),
)  # fmt: skip

GROUPS = (
    VariableGroup(
        "language, time and terminal: what programs print depends on them",
        (
            "LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION",
            "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER",
            "LC_TELEPHONE", "LC_TIME", "LOCPATH", "LOCALE_ARCHIVE", "TZ", "TZDIR", "TERM", "TERMINFO",
            "TERMINFO_DIRS", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
            "CLICOLOR_FORCE", "DEBIAN_FRONTEND", "DO_NOT_TRACK", "SOURCE_DATE_EPOCH",
        ),
    ),
    VariableGroup(
        "the way to the network, and which certificates are trusted (public ones)",
        (
            "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
            "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
            "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
            "GIT_SSL_CAPATH", "CARGO_HTTP_CAINFO", "DENO_CERT", "HTTPLIB2_CA_CERTS",
            "NIX_SSL_CERT_FILE", "SYSTEM_CERTIFICATE_PATH",
        ),
    ),
    VariableGroup(
        "compilers, linkers and build tools",
        (
            "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "OBJCOPY", "FC", "F77", "CFLAGS",
            "CXXFLAGS", "CPPFLAGS", "FFLAGS", "FCFLAGS", "LDFLAGS", "LDLIBS", "LIBS", "CPATH",
            "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "LD_RUN_PATH",
            "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PKG_CONFIG", "PKG_CONFIG_PATH",
            "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR", "ACLOCAL_PATH", "MAKE", "MAKEFLAGS", "CMAKE_*",
            "CTEST_*", "MESON_*", "NINJA_STATUS", "CCACHE_*", "SCCACHE_DIR", "SDKROOT", "DEVELOPER_DIR",
            "MACOSX_DEPLOYMENT_TARGET", "LLVM_CONFIG", "LIBCLANG_PATH", "CUDA_HOME", "CUDA_PATH",
            "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OPENSSL_DIR", "OPENSSL_LIB_DIR",
            "OPENSSL_INCLUDE_DIR", "EMSDK", "WASI_SDK_PATH", "BAZEL_*", "BAZELISK_*",
        ),
    ),
    VariableGroup(
        "Python and its package managers",
        (
            "PYTHON*", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PYENV_*", "CONDA_*", "MAMBA_*", "PIPX_*",
            "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_TRUSTED_HOST",
            "PIP_CERT", "PIP_CACHE_DIR", "PIP_CONSTRAINT", "PIP_BREAK_SYSTEM_PACKAGES",
            "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_CACHE_DIR", "PIP_NO_INPUT", "PIP_PREFER_BINARY",
            "PIP_ONLY_BINARY", "PIP_NO_BINARY", "PIP_RETRIES", "PIP_DEFAULT_TIMEOUT", "PIP_ROOT_USER_ACTION",
            "PIP_REQUIRE_VIRTUALENV", "PIP_USE_*", "UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX",
            "UV_EXTRA_INDEX_URL", "UV_INDEX_STRATEGY", "UV_FIND_LINKS", "UV_PYTHON*", "UV_CACHE_DIR",
            "UV_SYSTEM_PYTHON", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS", "UV_LINK_MODE", "UV_OFFLINE", "UV_NO_*",
            "UV_COMPILE_BYTECODE", "UV_FROZEN", "UV_LOCKED", "UV_PROJECT_ENVIRONMENT", "UV_TOOL_DIR",
            "UV_TOOL_BIN_DIR", "UV_INSTALL_DIR", "UV_INSECURE_HOST", "UV_CONCURRENT_*", "UV_HTTP_TIMEOUT",
            "POETRY_HOME", "POETRY_CACHE_DIR", "POETRY_VIRTUALENVS_*", "POETRY_NO_INTERACTION",
            "PDM_CACHE_DIR", "PDM_IGNORE_SAVED_PYTHON", "HATCH_*", "PIPENV_*", "PYTEST_*", "TOX_*", "NOX_*",
            "COVERAGE_*", "HYPOTHESIS_*", "MYPY*", "RUFF_*", "DJANGO_SETTINGS_MODULE", "FLASK_APP",
            "FLASK_ENV", "JUPYTER_PLATFORM_DIRS", "MPLBACKEND",
        ),
    ),
    VariableGroup(
        "JavaScript: runtimes, package managers, browsers for tests",
        (
            "NODE_ENV", "NODE_OPTIONS", "NODE_PATH", "NODE_NO_WARNINGS", "NODE_VERSION", "NODE_ICU_DATA",
            "NODE_COMPILE_CACHE", "NODE_DISABLE_COLORS", "NVM_*", "VOLTA_HOME", "VOLTA_FEATURE_PNPM",
            "FNM_*", "N_PREFIX", "NODENV_*", "PNPM_HOME", "COREPACK_*", "npm_config_registry",
            "NPM_CONFIG_REGISTRY", "npm_config_prefix", "NPM_CONFIG_PREFIX", "npm_config_cache",
            "NPM_CONFIG_CACHE", "npm_config_fund", "NPM_CONFIG_FUND", "npm_config_audit",
            "NPM_CONFIG_AUDIT", "npm_config_loglevel", "NPM_CONFIG_LOGLEVEL", "npm_config_offline",
            "npm_config_update_notifier", "NPM_CONFIG_UPDATE_NOTIFIER", "npm_config_yes",
            "npm_config_legacy_peer_deps", "NPM_CONFIG_LEGACY_PEER_DEPS", "YARN_CACHE_FOLDER",
            "YARN_VERSION", "YARN_ENABLE_*", "YARN_NPM_REGISTRY_SERVER", "BUN_INSTALL", "BUN_RUNTIME_*",
            "DENO_DIR", "DENO_INSTALL", "DENO_NO_*", "TS_NODE_*", "JEST_*", "VITEST*", "BABEL_*", "ESLINT_*",
            "NX_DAEMON", "NEXT_TELEMETRY_DISABLED", "ELECTRON_*", "CYPRESS_CACHE_FOLDER",
            "CYPRESS_INSTALL_BINARY", "CYPRESS_RUN_BINARY", "PLAYWRIGHT_*", "PUPPETEER_*", "CHROME_BIN",
            "CHROME_PATH", "CHROMEDRIVER_PATH", "EDGE_PATH", "FIREFOX_BIN", "GECKODRIVER_PATH", "SE_CACHE_PATH",
        ),
    ),
    VariableGroup(
        "Go",
        (
            "GOPATH", "GOROOT", "GOBIN", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOPRIVATE", "GONOSUMDB", "GOSUMDB",
            "GOINSECURE", "GOVCS", "GOTOOLCHAIN", "GOOS", "GOARCH", "GOARM", "GOAMD64", "GOARM64", "GO386",
            "GOMIPS", "GOWASM", "GOWORK", "GO111MODULE", "GOMODCACHE", "GOCACHE", "GOTMPDIR", "GOEXPERIMENT",
            "GODEBUG", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK", "GOENV", "GOFIPS140",
            "GOLANG_VERSION", "GOLANGCI_LINT_CACHE", "CGO_*", "GVM_ROOT", "GOENV_*",
        ),
    ),
    VariableGroup(
        "Rust",
        (
            "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_BUILD_*", "CARGO_INCREMENTAL", "CARGO_NET_*",
            "CARGO_TERM_*", "CARGO_PROFILE_*", "CARGO_TARGET_*", "CARGO_UNSTABLE_*", "CARGO_REGISTRIES_*",
            "CARGO_REGISTRY_DEFAULT", "CARGO_HTTP_*", "CARGO_ENCODED_RUSTFLAGS", "RUSTUP_*", "RUSTFLAGS",
            "RUSTDOCFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_BOOTSTRAP", "RUSTDOC",
            "RUSTFMT", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG", "RUST_TEST_*", "RUST_VERSION",
            "RUST_MIN_STACK", "PROTOC", "PROTOC_INCLUDE",
        ),
    ),
    VariableGroup(
        "Java, Kotlin, Scala and Android",
        (
            "JAVA_HOME", "JAVA_HOME_*", "JDK_HOME", "JRE_HOME", "JAVA_OPTS", "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "MAVEN_HOME", "M2_HOME", "MAVEN_OPTS",
            "MAVEN_ARGS", "GRADLE_HOME", "GRADLE_OPTS", "GRADLE_USER_HOME", "ANT_HOME", "ANT_OPTS",
            "KOTLIN_HOME", "SCALA_HOME", "SBT_HOME", "SBT_OPTS", "COURSIER_CACHE", "SDKMAN_*", "JENV_*",
            "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "GROOVY_HOME",
        ),
    ),
    VariableGroup(
        "Ruby",
        (
            "GEM_HOME", "GEM_PATH", "RUBYOPT", "RUBYLIB", "RUBY_VERSION", "RUBY_ROOT", "RUBY_ENGINE",
            "RUBY_YJIT_ENABLE", "BUNDLE_PATH", "BUNDLE_GEMFILE", "BUNDLE_WITHOUT", "BUNDLE_WITH",
            "BUNDLE_ONLY", "BUNDLE_JOBS", "BUNDLE_RETRY", "BUNDLE_DEPLOYMENT", "BUNDLE_FROZEN",
            "BUNDLE_BIN", "BUNDLE_SILENCE_ROOT_WARNING", "BUNDLE_APP_CONFIG", "BUNDLE_FORCE_RUBY_PLATFORM",
            "BUNDLE_DISABLE_SHARED_GEMS", "BUNDLER_VERSION", "RBENV_*", "rvm_path", "rvm_prefix", "MY_RUBY_HOME",
            "CHRUBY_*", "RAILS_ENV", "RACK_ENV", "RUBOCOP_*", "SPEC_OPTS",
        ),
    ),
    VariableGroup(
        "PHP and .NET",
        (
            "PHPRC", "PHP_*", "PHPENV_*", "COMPOSER_HOME", "COMPOSER_CACHE_DIR", "COMPOSER_MEMORY_LIMIT",
            "COMPOSER_PROCESS_TIMEOUT", "COMPOSER_ALLOW_SUPERUSER", "COMPOSER_NO_INTERACTION",
            "COMPOSER_NO_DEV", "COMPOSER_ROOT_VERSION", "COMPOSER_VENDOR_DIR", "COMPOSER_BIN_DIR", "APP_ENV",
            "DOTNET_*", "MSBUILD*", "NUGET_PACKAGES", "NUGET_HTTP_CACHE_PATH", "NUGET_XMLDOC_MODE",
            "ASPNETCORE_ENVIRONMENT", "ASPNETCORE_URLS",
        ),
    ),
    VariableGroup(
        "other languages, and version managers for several",
        (
            "MIX_ENV", "MIX_HOME", "MIX_ARCHIVES", "HEX_HOME", "HEX_MIRROR", "HEX_OFFLINE", "REBAR_*",
            "ERL_AFLAGS", "ERL_FLAGS", "ERL_LIBS", "ELIXIR_ERL_OPTIONS", "OPAM*", "OCAMLPATH",
            "CAML_LD_LIBRARY_PATH", "DUNE_*", "STACK_ROOT", "CABAL_DIR", "GHCUP_*", "SWIFT_*", "SWIFTLY_*",
            "FLUTTER_ROOT", "FLUTTER_STORAGE_BASE_URL", "PUB_CACHE", "PUB_HOSTED_URL", "JULIA_*",
            "R_HOME", "R_LIBS", "R_LIBS_*", "R_PROFILE", "RENV_PATHS_*", "PERL5LIB", "PERL5OPT", "PERL_*",
            "PERLBREW_*", "LUA_PATH", "LUA_CPATH", "LUAROCKS_CONFIG", "ZIG_*", "NIMBLE_DIR", "CRYSTAL_*",
            "SHARDS_*", "GUILE_*", "TEXMFHOME", "TEXINPUTS", "ASDF_*", "MISE_*", "RTX_*", "NIX_PATH",
            "NIX_PROFILES", "NIX_STORE", "IN_NIX_SHELL", "NIX_CFLAGS_*", "NIX_LDFLAGS*", "NIX_CC", "NIX_LD*",
            "NIX_BUILD_CORES", "NIX_ENFORCE_PURITY", "GUIX_*", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR",
            "HOMEBREW_REPOSITORY", "PROTO_HOME", "AQUA_ROOT_DIR", "PKGX_DIR", "DEVBOX_PROJECT_ROOT",
        ),
    ),
    VariableGroup(
        "git, without what it signs in with",
        (
            "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "GIT_TERMINAL_PROMPT", "GIT_EDITOR", "GIT_PAGER",
            "PAGER", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_CONFIG_NOSYSTEM",
            "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_DEFAULT_BRANCH", "GIT_LFS_SKIP_SMUDGE", "EMAIL",
        ),
    ),
    VariableGroup(
        "where a CI job runs: tests and coverage tools look for it; no tokens, no files of the job",
        (
            "CI", "CONTINUOUS_INTEGRATION", "BUILD_NUMBER", "RUN_ID", "GITHUB_ACTIONS", "GITHUB_WORKSPACE",
            "GITHUB_REPOSITORY", "GITHUB_REPOSITORY_OWNER", "GITHUB_REF", "GITHUB_REF_NAME",
            "GITHUB_REF_TYPE", "GITHUB_SHA", "GITHUB_RUN_ID", "GITHUB_RUN_NUMBER", "GITHUB_RUN_ATTEMPT",
            "GITHUB_ACTOR", "GITHUB_BASE_REF", "GITHUB_HEAD_REF", "GITHUB_EVENT_NAME", "GITHUB_JOB",
            "GITHUB_WORKFLOW", "GITHUB_SERVER_URL", "GITHUB_API_URL", "RUNNER_OS", "RUNNER_ARCH",
            "RUNNER_NAME", "RUNNER_ENVIRONMENT", "RUNNER_TEMP", "RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY",
            "ImageOS", "ImageVersion", "GITLAB_CI", "CI_COMMIT_SHA", "CI_COMMIT_SHORT_SHA",
            "CI_COMMIT_REF_NAME", "CI_COMMIT_BRANCH", "CI_COMMIT_TAG", "CI_PROJECT_DIR", "CI_PROJECT_NAME",
            "CI_PROJECT_PATH", "CI_PIPELINE_ID", "CI_JOB_ID", "CI_JOB_NAME", "CI_MERGE_REQUEST_IID",
            "CIRCLECI", "CIRCLE_BRANCH", "CIRCLE_SHA1", "CIRCLE_BUILD_NUM", "BUILDKITE", "BUILDKITE_BRANCH",
            "BUILDKITE_COMMIT", "BUILDKITE_BUILD_NUMBER", "TRAVIS", "TF_BUILD", "TEAMCITY_VERSION", "JENKINS_URL",
            "BUILD_ID", "BITBUCKET_BUILD_NUMBER", "BITBUCKET_COMMIT", "APPVEYOR", "DRONE", "SEMAPHORE",
        ),
    ),
)  # fmt: skip

OF_AGENTS = VariableGroup(
    "settings of Claude Code, for agent sessions alone, besides ANTHROPIC_* and CLAUDE_*",
    (
        "API_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH",
        "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "USE_BUILTIN_RIPGREP",
        "DISABLE_AUTOUPDATER", "DISABLE_BUG_COMMAND", "DISABLE_COST_WARNINGS", "DISABLE_ERROR_REPORTING",
        "DISABLE_INTERLEAVED_THINKING", "DISABLE_NON_ESSENTIAL_MODEL_CALLS", "DISABLE_PROMPT_CACHING",
        "DISABLE_PROMPT_CACHING_*", "DISABLE_TELEMETRY", "DISABLE_COMPACT", "DISABLE_AUTO_COMPACT",
        "ENABLE_PROMPT_CACHING_1H", "ENABLE_TOOL_SEARCH", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER",
        "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "TRACEPARENT", "TRACESTATE",
    ),
)  # fmt: skip
