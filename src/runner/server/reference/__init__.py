"""Documents that are made from the code: `python -m runner.server.reference docs` writes them."""

from collections.abc import Callable, Mapping

from runner.server.reference.contract import contract_document
from runner.server.reference.error_codes import error_codes_document

DOCUMENTS: Mapping[str, Callable[[], str]] = {
    "error-codes.md": error_codes_document,
    "contract-reference.md": contract_document,
}
"""File names in `docs/`, and what makes their content."""
