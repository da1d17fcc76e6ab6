"""``python -m maxkernel_orchestrators``: one job, one process."""

import sys

from maxkernel_orchestrators.process.main import main

if __name__ == "__main__":
    sys.exit(main())
