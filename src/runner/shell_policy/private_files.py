"""The files and folders of a home folder that hold credentials or private data.

This is the only list. The path policy refuses to name them, and the sandbox hides them.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

_KEYS_AND_PASSWORDS = (
    ".ssh", ".putty", ".gnupg", ".pki", ".cert", ".age", ".config/age", ".config/sops",
    ".netrc", ".netrc.gpg", "_netrc", ".authinfo", ".authinfo.gpg", ".git-credentials",
    ".config/git/credentials", ".password-store", ".local/share/gopass", ".config/gopass",
    ".config/op", ".op", ".1password", ".config/1Password", ".config/Bitwarden",
    ".config/Bitwarden CLI", ".config/keepassxc", ".cache/keepassxc", ".config/lpass",
    ".local/share/lpass", ".lpass", ".config/rbw", ".config/enpass", ".config/Dashlane",
    ".local/share/keyrings", ".local/share/kwalletd", ".gnome2/keyrings", ".Xauthority",
    ".ICEauthority", ".vault-token", ".step", ".config/gh", ".config/glab-cli", ".config/hub",
    ".config/tea", ".config/github-copilot",
)  # fmt: skip

_CLOUDS = (
    ".aws", ".azure", ".config/gcloud", ".boto", ".gsutil", ".s3cfg", ".mc", ".passwd-s3fs",
    ".b2_account_info", ".config/b2", ".config/rclone", ".config/doctl", ".config/hcloud",
    ".config/heroku", ".config/linode-cli", ".linode-cli", ".config/scw", ".ovh.conf",
    ".civo.json", ".vultr-cli.yaml", ".config/exoscale", ".oci", ".bluemix", ".aliyun", ".tccli",
    ".config/openstack", ".fly", ".config/netlify", ".netlify", ".config/vercel", ".vercel",
    ".now", ".local/share/com.vercel.cli", ".config/com.vercel.cli", ".wrangler", ".config/.wrangler",
    ".config/wrangler", ".cloudflared", ".config/cloudflare", ".railway", ".config/railway",
    ".render", ".supabase", ".config/supabase", ".config/planetscale", ".pscale", ".turso",
    ".config/turso", ".config/neonctl", ".config/ngrok", ".ngrok2", ".config/configstore",
    ".config/firebase", ".config/stripe", ".config/shopify", ".config/twilio", ".twilio-cli",
    ".config/doppler", ".doppler", ".infisical", ".pulumi/credentials.json", ".terraformrc",
    ".terraform.d/credentials.tfrc.json", ".tofurc", ".kube", ".minikube", ".rancher",
    ".config/argocd", ".config/helm/registry", ".docker", ".dockercfg", ".config/containers",
    ".sentryclirc", ".config/sentry", ".circleci", ".travis", ".config/buildkite", ".wakatime.cfg",
    ".wakatime", ".jira.d", ".config/.jira", ".expo", ".eas", ".appstoreconnect", ".android/adbkey",
    ".chef", ".vagrant.d/data", ".config/tailscale", ".config/filezilla", ".vnc", ".remmina",
    ".local/share/remmina", ".config/remmina",
)  # fmt: skip

_PACKAGES = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".pypirc", ".pip/pip.conf",
    ".config/pip/pip.conf", ".config/uv/uv.toml", ".config/uv/credentials",
    ".local/share/uv/credentials", ".config/pypoetry/auth.toml",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".local/share/gem/credentials",
    ".bundle/config", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".ivy2/.credentials", ".sbt/.credentials", ".composer/auth.json", ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config", ".hex/hex.config", ".config/dart/pub-credentials.json",
    ".pub-cache/credentials.json", ".config/helm/repositories.yaml",
)  # fmt: skip

_MODELS_AND_DATA = (
    ".codex", ".gemini", ".cursor", ".local/share/opencode", ".config/opencode", ".pi", ".continue",
    ".aider.conf.yml", ".config/goose", ".config/amp", ".local/share/amp", ".config/crush",
    ".local/share/crush", ".qwen", ".grok", ".factory", ".kiro", ".windsurf", ".codeium", ".tabnine",
    ".config/openai", ".openai", ".config/io.datasette.llm", ".config/fabric", ".config/aichat",
    ".ollama/id_ed25519", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
    ".huggingface", ".kaggle", ".config/kaggle", ".config/wandb", ".comet.config", ".modal.toml",
    ".runpod", ".vast_api_key", ".config/replicate", ".databrickscfg", ".databricks", ".snowflake",
    ".snowsql", ".config/snowflake", ".bigqueryrc", ".dbt/profiles.yml", ".pgpass", ".pg_service.conf",
    ".my.cnf", ".mylogin.cnf", ".mysqlsh", ".mongorc.js", ".mongodb", ".dbeaver",
    ".local/share/DBeaverData", ".config/pgcli", ".config/mycli", ".myclirc", ".redisclirc",
)  # fmt: skip

_PROGRAMS_OF_PEOPLE = (
    # browsers
    ".mozilla", ".librewolf", ".waterfox", ".config/google-chrome", ".config/google-chrome-beta",
    ".config/google-chrome-unstable", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/qutebrowser",
    ".local/share/qutebrowser", ".config/epiphany", ".local/share/epiphany", ".config/falkon",
    ".var/app", "snap/firefox", "snap/chromium", "snap/bitwarden",
    # editors
    ".config/Code", ".config/Code - Insiders", ".config/VSCodium", ".config/Cursor",
    ".config/Windsurf", ".vscode-server/data", ".cursor-server/data", ".config/JetBrains",
    ".local/share/JetBrains", ".config/zed", ".local/share/zed", ".config/sublime-text",
    ".config/Postman", ".config/Insomnia", ".config/bruno",
    # mail and chat
    ".thunderbird", ".config/evolution", ".local/share/evolution", ".msmtprc", ".config/msmtp",
    ".mbsyncrc", ".fetchmailrc", ".offlineimaprc", ".getmail", ".config/aerc", ".mutt", ".muttrc",
    ".config/mutt", ".neomuttrc", ".config/neomutt", "Mail", "Maildir", ".mail", ".config/Slack",
    ".config/discord", ".config/Signal", ".config/Element", ".config/Microsoft", ".config/teams",
    ".local/share/TelegramDesktop", ".weechat", ".config/weechat", ".irssi", ".purple",
    ".config/Ledger Live", ".config/Exodus", ".config/solana", ".electrum", ".bitcoin", ".litecoin",
    ".ethereum", ".monero", ".bitmonero", ".foundry/keystores", ".brownie/accounts", ".near-credentials",
)  # fmt: skip

_HISTORIES = (
    ".bash_history", ".zsh_history", ".histfile", ".sh_history", ".history", ".ash_history",
    ".local/share/fish/fish_history", ".config/fish/fish_variables", ".zsh_sessions",
    ".bash_sessions", ".local/share/atuin", ".python_history", ".local/state/python_history",
    ".ipython/profile_default/history.sqlite", ".node_repl_history", ".ts_node_repl_history",
    ".deno_history", ".irb_history", ".pry_history", ".local/share/pry", ".php_history", ".psql_history",
    ".mysql_history", ".mycli-history", ".mycli.log", ".local/share/pgcli", ".sqlite_history",
    ".litecli-history", ".rediscli_history", ".mongo_history", ".dbshell", ".duckdb_history", ".lesshst",
    ".local/state/less", ".local/state/lesshst", ".viminfo", ".vim/viminfo", ".local/share/nvim/shada",
    ".local/state/nvim/shada", ".gdb_history", ".local/state/bash", ".local/state/zsh",
    ".local/share/recently-used.xbel", ".local/share/powershell/PSReadLine", ".scala_history",
    ".julia/logs", ".Rhistory", ".lua_history",
)  # fmt: skip

_ON_MACOS = (
    "Library/Keychains", "Library/Cookies", "Library/Mail", "Library/Messages", "Library/Safari",
    "Library/Application Support/Google/Chrome", "Library/Application Support/Chromium",
    "Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge",
    "Library/Application Support/Vivaldi", "Library/Application Support/Arc",
    "Library/Application Support/Firefox", "Library/Application Support/Code",
    "Library/Application Support/Cursor", "Library/Application Support/Windsurf",
    "Library/Application Support/JetBrains", "Library/Application Support/Slack",
    "Library/Application Support/discord", "Library/Application Support/Signal",
    "Library/Application Support/1Password", "Library/Application Support/Bitwarden",
    "Library/Application Support/com.vercel.cli", "Library/Application Support/pip",
    "Library/Application Support/gcloud", "Library/Application Support/gh",
    "Library/Application Support/hcloud", "Library/Application Support/doctl",
    "Library/Application Support/sops", "Library/Application Support/pypoetry",
    "Library/Application Support/snowflake", "Library/Application Support/io.datasette.llm",
    "Library/Application Support/Exodus", "Library/Application Support/Ledger Live",
    "Library/Application Support/Postman", "Library/Application Support/Claude",
    "Library/Preferences/netlify", "Library/Preferences/pypoetry",
    "Library/Group Containers/2BUA8C4S2C.com.1password",
)  # fmt: skip

IN_HOME = (
    *_KEYS_AND_PASSWORDS, *_CLOUDS, *_PACKAGES, *_MODELS_AND_DATA, *_PROGRAMS_OF_PEOPLE,
    *_HISTORIES, *_ON_MACOS,
)  # fmt: skip
"""Paths relative to the home folder."""

ALSO_IN_PROJECTS = frozenset({
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".bundle/config", ".docker", ".vercel",
    ".netlify", ".wrangler", ".expo", ".eas", ".circleci", ".travis", ".cursor", ".codex", ".gemini",
    ".qwen", ".kiro", ".windsurf", ".continue", ".factory", ".pi", ".sentryclirc", ".supabase",
    ".aider.conf.yml", ".chef", ".render", ".railway", ".step", ".mc", ".now", ".history",
    ".cert", ".age", ".op", ".fly", ".oci", ".mail", "Mail", "Maildir", ".wakatime", ".dbeaver",
    ".grok", ".tabnine", ".codeium", ".openai", ".mongodb", ".databricks", ".snowflake", ".runpod",
    ".infisical", ".doppler", ".comet.config", ".modal.toml", ".boto", ".s3cfg", ".Rhistory",
    ".huggingface", ".kaggle", ".minikube", ".rancher", ".turso", ".pscale", ".vnc", ".mutt",
    ".twilio-cli", ".aliyun", ".bluemix", ".terraformrc", ".tofurc", ".dbshell",
    ".gradle/gradle.properties", ".pypirc", ".gem/credentials", ".cargo/credentials",
    ".cargo/credentials.toml", ".m2/settings.xml", ".composer/auth.json",
})  # fmt: skip
"""Names of `IN_HOME` that projects use for files of their own: refused outside the project only."""

NAMES_IN_PATTERNS = tuple(
    entry
    for entry in IN_HOME
    if entry.startswith(".")
    and entry not in ALSO_IN_PROJECTS
    and not (entry.startswith(".cache/") and entry.count("/") == 1)
)
"""Those that a pattern such as `~/.ss[h]/*` may not match; `*` and `.cache/*` are everyday ones."""

_BASES = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "CARGO_HOME": ".cargo",
    "GRADLE_USER_HOME": ".gradle",
    "COMPOSER_HOME": ".composer",
    "BUNDLE_USER_HOME": ".bundle",
    "HF_HOME": ".cache/huggingface",
    "CODEX_HOME": ".codex",
    "MINIKUBE_HOME": ".minikube",
    "PULUMI_HOME": ".pulumi",
}
"""Variables that move a part of the home folder to another place."""


def private_places(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, PurePosixPath]]:
    """Yield each entry of the list with the paths it has here, whether they exist or not.

    Args:
        environ: names other places for parts of the home folder, such as XDG_CONFIG_HOME.
    """
    moved = {
        base: PurePosixPath(environ[name])
        for name, base in _BASES.items()
        if environ.get(name, "").startswith("/")
    }
    for entry in IN_HOME:
        yield entry, PurePosixPath(home) / entry
        for base, place in moved.items():
            if PurePosixPath(entry).is_relative_to(base):
                yield entry, place / PurePosixPath(entry).relative_to(base)
