"""What the figures were measured on."""

import datetime
import os
import platform


def first_line(path, fallback=""):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return fallback


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return platform.machine()


def load():
    """Runnable processes of the last minute, on average."""
    return os.getloadavg()[0]


def siblings_of(cpu, root):
    """The hardware threads of a CPU's core ("0,32", "0-1"); itself where sysfs does not say."""
    text = first_line(f"{root}/cpu{cpu}/topology/thread_siblings_list", str(cpu))
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def cores(usable=None, root="/sys/devices/system/cpu"):
    """The first usable CPU of each core. Launchers count a core once, however many hardware threads
    it has: two ranks on one would share it."""
    usable = sorted(os.sched_getaffinity(0) if usable is None else usable)
    return [cpu for cpu in usable if cpu == min(siblings_of(cpu, root).intersection(usable), default=cpu)]


def real_time():
    """Whether this process, and so all that it starts, goes before every ordinary one."""
    return os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)


def describe():
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": len(cores()),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "tcp_congestion": first_line("/proc/sys/net/ipv4/tcp_congestion_control"),
    }
