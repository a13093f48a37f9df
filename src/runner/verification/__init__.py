"""Verification commands run by runner itself, in a clean room, with receipts."""
