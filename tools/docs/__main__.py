"""`make docs`: builds the site into the folder that the command names."""

import sys
from pathlib import Path

from tools.docs.site import build

if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
