"""How much processor time a program has used, with everything it started."""

import psutil


def processor_time(pid: int) -> float:
    """Seconds used so far by a process and its children, also by children that have ended."""
    total = 0.0
    top = psutil.Process(pid)
    for process in (top, *top.children(recursive=True)):
        try:
            used = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system + used.children_user + used.children_system
    return total
