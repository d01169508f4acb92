"""One page that says what a study found: figure, tables, paired differences, and what it was run with."""

from rankfall.experiments.report.page import Section, write_report

__all__ = ["Section", "write_report"]
