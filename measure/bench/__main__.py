"""`make bench`: what the package costs, each number with its limit; the status is 1 if one is passed.

Times are compared with others of the same run only, but for those that stand in micro- or milliseconds.
"""

from __future__ import annotations

import sys

from bench import call, checks, document, launch, process, rust

TITLES = ("", "measured", "limit", "verdict", "note")


def main() -> int:
    rows = [*process.rows(), *call.rows(), *checks.rows(), *rust.rows(), *launch.rows()]
    cells_of_rows = [row.cells() for row in rows]
    table = [TITLES, *cells_of_rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table)]
    for cells in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())
    document.write(TITLES, cells_of_rows)
    return int(any(row.verdict == "FAIL" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
