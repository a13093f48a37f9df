"""Tokens as HMACs over what they are bound to, with a key that is passed in (DESIGN §6).

Only hashes are stored. A token can be derived again from its binding, so that a stored answer
is completed with it when it is given a second time.
"""

import base64
import hashlib
import hmac
import json
from datetime import datetime

from runner.autonomy.models import GateEvidence, SessionState, StepProof

_PROOF_PREFIX = "stp_"
_EVIDENCE_PREFIX = "gev_"
_SIGNED_PREFIX = "ges."


def token_hash(token: str) -> str:
    """Return what is stored of a token."""
    return "sha256:" + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def same_token(token: str, stored_hash: str) -> bool:
    """Say whether `token` is the one that `stored_hash` was made of, in constant time."""
    return same_text(token_hash(token), stored_hash)


def step_proof_token(
    key: bytes, *, session_id: str, spec_id: str, step_id: str, expires_at: datetime
) -> str:
    """Return the proof token of a step."""
    binding = ("step-proof", session_id, spec_id, step_id, expires_at.isoformat())
    return _PROOF_PREFIX + _mac(key, binding)


def proof_token_of(key: bytes, state: SessionState, proof: StepProof) -> str:
    """Derive the token of a stored proof again."""
    return step_proof_token(
        key,
        session_id=state.id,
        spec_id=state.spec_id,
        step_id=proof.step_id,
        expires_at=proof.expires_at,
    )


def evidence_token(
    key: bytes, *, session_id: str, phase_id: str, step_id: str, attempt: str
) -> str:
    """Return the token of a gate attempt."""
    return _EVIDENCE_PREFIX + _mac(key, ("gate", session_id, phase_id, step_id, attempt))


def signed_evidence_token(secret: str, key_id: str, evidence: GateEvidence) -> str:
    """Return the token of a gate attempt in signed mode.

    It names its key, and its signature covers what was decided and until when, so that it can be
    checked without believing anything that is stored.

    Args:
        secret: of the key, in hex.
        key_id: of the key.
        evidence: the attempt; its own hash and checksum are not part of what is signed.
    """
    binding = (
        "signed-gate",
        key_id,
        evidence.session_id,
        evidence.phase_id,
        evidence.step_id,
        evidence.gate_attempt_id,
        evidence.verdict.value,
        evidence.issued_at.isoformat(),
        evidence.expires_at.isoformat(),
    )
    return f"{_SIGNED_PREFIX}{key_id}.{_mac(bytes.fromhex(secret), binding)}"


def key_id_of(token: str) -> str | None:
    """Return the key that a token says it is signed with, None for an unsigned token."""
    if not token.startswith(_SIGNED_PREFIX):
        return None
    return token.removeprefix(_SIGNED_PREFIX).partition(".")[0]


def same_text(one: str, other: str) -> bool:
    """Say whether two secret texts are equal, in constant time."""
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def evidence_checksum(key: bytes, evidence: GateEvidence) -> str:
    """Return the HMAC that shows an edit of the stored evidence."""
    content = evidence.model_dump(mode="json", exclude={"checksum"})
    return _mac(key, ("gate-record", json.dumps(content, sort_keys=True)))


def _mac(key: bytes, binding: tuple[str, ...]) -> str:
    digest = hmac.new(key, json.dumps(binding).encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
