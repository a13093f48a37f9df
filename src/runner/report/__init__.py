"""What a run did: gathered from the files it left, and written as text, JSON or a page."""
