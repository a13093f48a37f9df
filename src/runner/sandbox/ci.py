"""What a CI job holds that would let an agent act as the job, or decide what its later steps do."""

from collections.abc import Iterator, Mapping
from pathlib import Path

CI_VARIABLES = frozenset((
    # GitHub, and what speaks its language (Gitea, Forgejo, act)
    "GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
    "GITHUB_EVENT_PATH", "GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN",
    # GitLab
    "CI_JOB_TOKEN", "CI_BUILD_TOKEN", "CI_JOB_JWT", "CI_JOB_JWT_V1", "CI_JOB_JWT_V2",
    "CI_REGISTRY_PASSWORD", "CI_DEPLOY_PASSWORD", "CI_DEPENDENCY_PROXY_PASSWORD",
    "CI_REPOSITORY_URL", "GITLAB_TOKEN",
    # Azure Pipelines, CircleCI, Bitbucket, Buildkite, Semaphore, Drone and Woodpecker
    "SYSTEM_ACCESSTOKEN", "CIRCLE_OIDC_TOKEN", "CIRCLE_OIDC_TOKEN_V2",
    "BITBUCKET_STEP_OIDC_TOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN", "SEMAPHORE_OIDC_TOKEN",
    "DRONE_NETRC_PASSWORD", "CI_NETRC_PASSWORD",
))  # fmt: skip
"""Never in an agent's environment, with a sandbox or without: the job's tokens, and its files."""

_PREFIX = "ACTIONS_"  # tokens and addresses of GitHub's cache, artifacts and identities
_IN_TEMP = ("_runner_file_commands", "git-credentials-*.config")
_OF_THE_MACHINE = (".credentials", ".credentials_rsaparams", ".credentials_migrated", ".env")


def is_ci_variable(name: str) -> bool:
    """Whether a variable is one of a CI job that no agent is to have."""
    return name in CI_VARIABLES or name.startswith(_PREFIX)


def job_folder(environ: Mapping[str, str]) -> Path | None:
    """Return GitHub's folder for a job's own files (`RUNNER_TEMP`), links resolved.

    By the files in it a step sets variables, `PATH` and outputs for later ones, and
    actions/checkout keeps its credentials there.
    """
    named = Path(environ.get("RUNNER_TEMP", ""))
    try:
        return named.resolve() if named.is_absolute() and named.is_dir() else None
    except OSError:
        return None


def ci_secrets(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield what is to be hidden of a job's folder alone, and by what a machine signs in to GitHub."""
    folder = job_folder(environ)
    if folder is None:
        return
    for name in _IN_TEMP:
        yield from sorted(folder.glob(name))
    # A self-hosted machine has its own files two folders up: ROOT/_work/_temp.
    if folder.name == "_temp":
        for name in _OF_THE_MACHINE:
            yield folder.parent.parent / name
