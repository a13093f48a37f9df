"""The Claude Agent SDK adapter: the only package that imports the SDK, and lazily."""
