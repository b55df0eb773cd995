"""`python -m jaxcert` is the command `jaxcert`."""

import sys

from jaxcert.cli import main

if __name__ == "__main__":
    sys.exit(main())
