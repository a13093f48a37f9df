"""Write the documents that are made from the code into a folder, `docs` unless one is named."""

import sys
from pathlib import Path

from runner.server.reference import DOCUMENTS

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, make in DOCUMENTS.items():
        (folder / name).write_text(make(), encoding="utf-8")
