import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import `specification`

# No deadline: the first example may compile a kernel. Derandomized: the same examples on every machine.
settings.register_profile("rankfall", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("rankfall")
