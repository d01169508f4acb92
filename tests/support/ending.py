"""Run ``rankfall`` in a process that ends itself at a chosen moment: ``python ending.py MOMENT NUMBER COMMAND...``.

The moments, each of them the NUMBERth of its kind:

``file``
    killed when a Parquet file is complete, but not yet under its own name
``insert``
    killed in the middle of a transaction, before an event is inserted into SQLite
``interrupt``
    interrupted as by Ctrl-C when a Parquet file has its name; the next one waits until the interrupt was noticed
"""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import Any, NoReturn

from waiting import START_PATIENCE


def run_until(moment: str, number: int, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of ``rankfall`` until the moment has come; what it started ends with it."""
    started = [sys.executable, __file__, moment, str(number), *command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(started, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            process.wait(START_PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(started, process.returncode, out.read(), err.read())


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL ends the process at once")


def kill_at_file(number: int) -> None:
    replace, counter = os.replace, itertools.count(1)

    def replace_or_die(source: Any, target: Any, **options: Any) -> None:
        if str(target).endswith(".parquet") and next(counter) == number:
            die()
        replace(source, target, **options)

    os.replace = replace_or_die


def interrupt_at_file(number: int) -> None:
    replace, counter, noticed = os.replace, itertools.count(1), threading.Event()

    def notice(*what: Any) -> None:
        noticed.set()
        signal.default_int_handler(*what)

    def replace_and_interrupt(source: Any, target: Any, **options: Any) -> None:
        files = next(counter) if str(target).endswith(".parquet") else 0
        if files > number:
            noticed.wait()
        replace(source, target, **options)
        if files == number:
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, notice)
    os.replace = replace_and_interrupt


def kill_at_insert(number: int) -> None:
    connect, counter = sqlite3.connect, itertools.count(1)

    def look(statement: str) -> None:
        if statement.startswith("INSERT INTO events") and next(counter) == number:
            die()

    def connect_and_look(*place: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*place, **options)
        connection.set_trace_callback(look)
        return connection

    sqlite3.connect = connect_and_look  # type: ignore[assignment]


MOMENTS = {"file": kill_at_file, "insert": kill_at_insert, "interrupt": interrupt_at_file}

if __name__ == "__main__":
    _, moment, number, *sys.argv[1:] = sys.argv
    MOMENTS[moment](int(number))
    from rankfall.cli import main

    main()
