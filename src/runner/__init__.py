"""Drive Claude through the Claude Agent SDK until every deliverable of a spec passes."""

__version__ = "0.1.0"  # x-release-please-version
