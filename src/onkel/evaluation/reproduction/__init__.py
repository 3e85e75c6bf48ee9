"""The papers' tables, run again: our figures beside the published ones.

with Results("results.sqlite") as results:
    missing = run_table(table("thesis-4.4"), Request(datasets=("german",)), results)
    view = compared(table("thesis-4.4"), Request(datasets=("german",)), results, missing)

The runs go through joblib, so `joblib.parallel_config` sends them to a cluster.
"""

from .comparison import Comparison, View, compared, write_csv
from .results import Results
from .runner import Request, run_table
from .settings import Table, names, table

__all__ = [
    "Comparison",
    "Request",
    "Results",
    "Table",
    "View",
    "compared",
    "names",
    "run_table",
    "table",
    "write_csv",
]
