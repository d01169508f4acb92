"""Click logs: lists that were shown to people, and their clicks, read from CSV, Parquet or our own export."""

from rankfall.click_logs.log import ClickLog, LoggedList
from rankfall.click_logs.reading import read_click_log
from rankfall.click_logs.values import COLUMNS, CONTEXT, NEEDED

__all__ = ["COLUMNS", "CONTEXT", "NEEDED", "ClickLog", "LoggedList", "read_click_log"]
