"""``python measure CAMPAIGN [ARGUMENT ...]``: run one of the folders here that have a ``__main__.py``."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The cluster, its jobs and the lists of variables are those of the tests.
sys.path.append(str(HERE.parent / "tests"))
del sys.argv[0]
campaigns = sorted(main.parent.name for main in HERE.glob("*/__main__.py"))
if sys.argv[:1] and sys.argv[0] in campaigns:
    runpy.run_module(sys.argv[0], run_name="__main__")
else:
    sys.exit("usage: python measure CAMPAIGN [ARGUMENT ...]; campaigns: " + ", ".join(campaigns))
