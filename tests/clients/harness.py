"""What the client tests share: the report, worlds of processes with hard limits, MPS, the library's place."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Seconds between asking a process to end and killing it. Killing is the last resort: under MPS a killed client can
# take the GPU's server, and with it every other client, along.
GRACE = 15
# Seconds that the other ranks get after one has ended badly.
AFTERMATH = 25
POLL = 0.05


class Report:
    """One line for each case, and the counts."""

    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def ok(self, name, note=""):
        self.counts["passed"] += 1
        self._say(f"ok {name}{note and f' ({note})'}")

    def failed(self, name, why):
        self.counts["failed"] += 1
        self._say(f"FAILED {name}: {one_line(why)}")

    def skipped(self, name, why):
        self.counts["skipped"] += 1
        self._say(f"skipped {name}: {one_line(why)}")

    def detail(self, text):
        for line in text.splitlines():
            self._say(f"    {line}")

    def close(self):
        """Prints the closing line and gives the exit status."""
        counts = self.counts
        self._say(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        return 1 if counts["failed"] or not counts["passed"] else 0

    @staticmethod
    def _say(line):
        print(line, flush=True)


def one_line(text, most=300):
    text = " | ".join(line.strip() for line in str(text).splitlines() if line.strip())
    return text if len(text) <= most else text[: most - 3] + "..."


def tail(path, most=2500):
    """The end of a log, for a failure's details."""
    try:
        with open(path, errors="replace", encoding="utf-8") as file:
            return file.read()[-most:].strip()
    except OSError:
        return ""


class Ended(BaseException):
    """Someone, or the time limit of the whole, asks for the end."""


def run_test(options, test, mps=None):
    """Calls test(report, folder for logs) within the time for the whole, and ends the process.

    A request to end unwinds the stack, so that what was started is ended too, and the report is closed.
    """

    def leave(number, _):
        signal.alarm(0)
        took_long = number == signal.SIGALRM
        over = f"the {options.total} s for the whole are over"
        raise Ended(over if took_long else f"signal {number} asked for the end")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, leave)
    signal.alarm(options.total)
    report, begun = Report(), time.monotonic()
    try:
        with Mps(options.mps if mps is None else mps), Logs(options.logs) as logs:
            test(report, logs)
    except Ended as why:
        report.failed("the whole", why)
    signal.alarm(0)
    print(f"{time.monotonic() - begun:.0f} s", flush=True)
    sys.exit(report.close())


def add_common_arguments(parser):
    parser.add_argument("--lib", default=".", metavar="DIR", help="the folder that holds libnccl.so.2")
    parser.add_argument("--mps", action="store_true", help="run under an MPS daemon of this test's own")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases by name, such as '*all_reduce*'")
    parser.add_argument("--total", type=int, default=3000, metavar="SECONDS", help="for the whole")
    parser.add_argument("--logs", metavar="DIR", help="keep the processes' output here")


def library_of(folder):
    """The path of libnccl.so.2 in the folder; the test ends here if there is none."""
    path = os.path.join(os.path.realpath(folder), "libnccl.so.2")
    if not os.path.exists(path):
        sys.exit(f"--lib: there is no {path}")
    return path


def client_environment(library, preload, extra=None):
    """The environment in which a client finds our library before any other.

    The preload is for clients whose RPATH names a library of their own. The folder is on the search path too, for
    what our library needs and for clients without an RPATH; these also find the CUDA toolkit's libraries there.
    """
    environment = dict(os.environ)
    places = [os.path.dirname(library), os.environ.get("LD_LIBRARY_PATH")]
    if not preload:
        places.append(os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64"))
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, places))
    if preload:
        environment["LD_PRELOAD"] = ":".join(filter(None, [library, os.environ.get("LD_PRELOAD")]))
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment.update(extra or {})
    return environment


def mapped_libraries(pid="self"):
    """The files of shared libraries that a process has mapped."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        fields = (line.split(maxsplit=5) for line in file)
        return sorted({parts[5].strip() for parts in fields if len(parts) == 6 and ".so" in parts[5]})


class Found(ctypes.Structure):
    """What dladdr tells."""

    _fields_ = [("path", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


def home_of_symbol(name):
    """The library from which this process takes a function of that name."""
    everything = ctypes.CDLL(None)
    try:
        address = ctypes.cast(getattr(everything, name), ctypes.c_void_p)
    except AttributeError:
        return ""
    found = Found()
    everything.dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(Found)]
    return os.path.realpath(found.path.decode()) if everything.dladdr(address, ctypes.byref(found)) else ""


def complaint_about_libraries(library):
    """Why this process, which has made a communicator, has not made it with Gyre on a device; or nothing.

    NVIDIA's library may be mapped as well: PyTorch opens it by its path, for itself alone. What counts is where the
    functions come from, and that Gyre's device back-end is there: it is mapped for the first device rank.
    """
    home = home_of_symbol("ncclCommInitRankConfig")
    if home != os.path.realpath(library):
        return f"ncclCommInitRankConfig comes from {home or 'nowhere'}, not from {library}"
    for needed in ("libgyre.so", "libgyre_cuda.so"):
        if not any(f"/{needed}" in path for path in mapped_libraries()):
            return f"{needed} is not mapped"
    return ""


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class World:
    """Some processes that belong together, each the leader of a group of its own."""

    def __init__(self, commands, environments, logs, name):
        self.name = name
        self.logs = [os.path.join(logs, f"{name}.{rank}.log") for rank in range(len(commands))]
        self.processes = []
        try:
            for command, environment, log in zip(commands, environments, self.logs):
                with open(log, "wb") as output:
                    self.processes.append(
                        subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                         stderr=subprocess.STDOUT, start_new_session=True))
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def statuses(self):
        return [process.poll() for process in self.processes]

    def running(self):
        return [rank for rank, status in enumerate(self.statuses()) if status is None]

    def wait(self, limit, progress=None, start=0):
        """Waits for all. Gives nothing, or why it waited no longer: then some still run.

        `limit` bounds the time without news, where `progress` gives a number that grows with news, and `start` the
        time to the first; without `progress` it bounds the whole.
        """
        deadline, news, first_bad = time.monotonic() + max(limit, start), 0, None
        while self.running():
            now = time.monotonic()
            latest = progress() if progress else 0
            if latest != news:
                news, deadline = latest, now + limit
            bad = [rank for rank, status in enumerate(self.statuses()) if status not in (None, 0)]
            if bad and first_bad is None:
                first_bad = now
            if first_bad is not None and now > first_bad + AFTERMATH:
                how = status_text(self.statuses()[bad[0]])
                return f"rank {bad[0]} ended with {how}, ranks {self.running()} did not end"
            if now > deadline:
                return f"nothing from ranks {self.running()} for {limit:.0f} s"
            time.sleep(POLL)
        return ""

    def end(self):
        """Ends what still runs: asks, waits, and only then kills. Also what the processes left behind."""
        for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
            living = [process for process in self.processes if process.poll() is None]
            for process in living:
                signal_group(process.pid, number)
            deadline = time.monotonic() + patience
            while any(process.poll() is None for process in living) and time.monotonic() < deadline:
                time.sleep(POLL)
        for process in self.processes:
            signal_group(process.pid, signal.SIGTERM)

    def outputs(self, most=2500):
        return "\n".join(f"-- {os.path.basename(log)}\n{tail(log, most)}" for log in self.logs)


def signal_group(group, number):
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def status_text(status):
    if status is None:
        return "nothing yet"
    return f"signal {-status}" if status < 0 else f"status {status}"


def run_one(command, environment, limit, log_folder, name):
    """One command with a limit. Gives (status or None if it did not end, output)."""
    with World([command], [environment], log_folder, name) as world:
        why = world.wait(limit)
        status = world.statuses()[0]
        if why:
            world.end()
            return None, f"{why}\n{tail(world.logs[0])}"
        with open(world.logs[0], errors="replace", encoding="utf-8") as file:
            return status, file.read()


def loaded_by(program, environment, log_folder):
    """What the loader would give a program: (the path for libnccl.so.2 or nothing, the names it does not find)."""
    _, output = run_one([program], {**environment, "LD_TRACE_LOADED_OBJECTS": "1"}, 60, log_folder, "loader")
    lines = [line.split() for line in output.splitlines()]
    found = [os.path.realpath(line[2]) for line in lines if line[:2] == ["libnccl.so.2", "=>"]]
    return (found or [""])[0], [line[0] for line in lines if line[1:] == ["=>", "not", "found"]]


class Mps:
    """An MPS daemon with folders of its own, while it is wanted; without, nothing."""

    CONTROL = "nvidia-cuda-mps-control"

    def __init__(self, wanted):
        self.wanted = wanted
        self.folder = None
        self.variables = {}

    def __enter__(self):
        if not self.wanted:
            return self
        if shutil.which(self.CONTROL) is None:
            sys.exit(f"--mps: there is no {self.CONTROL}")
        # Short: the path of a socket in it has room for 107 letters.
        self.folder = tempfile.mkdtemp(prefix="mps", dir="/tmp")
        self.variables = {
            "CUDA_MPS_PIPE_DIRECTORY": os.path.join(self.folder, "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": os.path.join(self.folder, "log"),
        }
        for path in self.variables.values():
            os.mkdir(path)
        os.environ.update(self.variables)
        said = os.path.join(self.folder, "start")
        # A file: the daemon keeps what it is given, and a pipe would end only with it.
        with open(said, "wb") as output:
            started = subprocess.run([self.CONTROL, "-d"], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                     timeout=60, check=False)
        if started.returncode != 0 or self.tell("get_server_list") is None:
            why = one_line(tail(said))
            self.__exit__()
            sys.exit(f"--mps: the daemon did not start: {why}")
        return self

    def tell(self, command, limit=60):
        """What the daemon answers, or None."""
        try:
            done = subprocess.run([self.CONTROL], input=command + "\n", capture_output=True, text=True, timeout=limit,
                                  check=False)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout if done.returncode == 0 else None

    def __exit__(self, *_):
        if self.folder is None:
            return
        if self.tell("quit -t 20") is None:
            print("the MPS daemon did not answer", tail(os.path.join(self.folder, "log", "control.log")), flush=True)
        for name in self.variables:
            os.environ.pop(name, None)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None


class Logs:
    """The folder for the processes' output: the one asked for, or one that goes away."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.path = None

    def __enter__(self):
        if self.wanted:
            os.makedirs(self.wanted, exist_ok=True)
        self.path = os.path.realpath(self.wanted) if self.wanted else tempfile.mkdtemp(prefix="clients")
        return self.path

    def __exit__(self, *_):
        if not self.wanted:
            shutil.rmtree(self.path, ignore_errors=True)
