"""``python -m jaxbench``: the ``jaxbench`` command."""

import sys

from jaxbench.cli import main

sys.exit(main())
