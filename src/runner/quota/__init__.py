"""Usage limits: recognise them, know when they end, wait."""
