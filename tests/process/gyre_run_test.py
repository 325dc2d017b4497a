#!/usr/bin/env python3
"""What `gyre run` promises about the processes it starts. Usage: gyre_run_test.py PATH_OF_GYRE"""

import os
import re
import select
import signal
import subprocess
import sys
import time
import unittest

GYRE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "gyre"
# A bound on every wait: passing it is a failure, never a pass.
LIMIT = 20
FOREVER = "exec sleep 1000"


def gyre_run(*arguments, **keywords):
    return subprocess.run(
        [GYRE, "run", *arguments], capture_output=True, text=True, timeout=LIMIT, **keywords
    )


class Job:
    """A job that runs while the test looks at it."""

    def __init__(self, *arguments, **keywords):
        self.process = subprocess.Popen(
            [GYRE, "run", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            **keywords,
        )
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def lines(self, count):
        """The first `count` lines of output, as soon as they are there."""
        deadline = time.monotonic() + LIMIT
        while self.text.count(b"\n") < count:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            piece = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not piece:
                raise AssertionError(f"only {self.text!r} came")
            self.text += piece
        return self.text.decode().splitlines()[:count]

    def end(self):
        out, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, (self.text + out).decode(), err.decode()


def wait_for(condition):
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.005)
    return True


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Environment(unittest.TestCase):
    def test_every_rank_gets_the_variables_of_torchrun(self):
        names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR".split()
        result = gyre_run("-n", "3", "sh", "-c", "echo " + " ".join("$" + name for name in names))
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = [f"{rank} 3 {rank} 3 0 127.0.0.1" for rank in range(3)]
        self.assertEqual(sorted(result.stdout.splitlines()), expected)

    def test_the_job_is_one_and_another_job_is_another(self):
        command = ("-n", "4", "sh", "-c", "echo $MASTER_PORT $GYRE_JOB_ID $TORCHELASTIC_RUN_ID")
        jobs = [set(gyre_run(*command).stdout.splitlines()) for _ in range(2)]
        for job in jobs:
            self.assertEqual(len(job), 1)
            port, job_id, run_id = next(iter(job)).split()
            self.assertTrue(1024 < int(port) < 65536)
            self.assertRegex(job_id, "^[0-9a-f]{32}$")
            self.assertEqual(job_id, run_id)
        self.assertFalse(jobs[0] & jobs[1])

    def test_env_wins_over_inherited_and_computed_values(self):
        result = gyre_run(
            "-n", "2", "--env", "A=1=2", "-e", "MASTER_PORT=7", "sh", "-c", "echo $A $MASTER_PORT",
            env={**os.environ, "A": "old"},
        )
        self.assertEqual(result.stdout, "1=2 7\n" * 2)

    def test_ranks_share_the_cores_unless_told_otherwise(self):
        clean = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        show = ("sh", "-c", "echo $OMP_NUM_THREADS")
        self.assertEqual(gyre_run("-n", "2", *show, env=clean).stdout, "1\n1\n")
        self.assertEqual(gyre_run("-n", "1", *show, env=clean).stdout, "\n")
        told = gyre_run("-n", "2", *show, env={**clean, "OMP_NUM_THREADS": "3"})
        self.assertEqual(told.stdout, "3\n3\n")

    def test_bound_ranks_take_the_cores_in_turn(self):
        cores = sorted(os.sched_getaffinity(0))
        # One write each, or the lines of the ranks may mix.
        script = (
            "import os; where = ' '.join(map(str, os.sched_getaffinity(0))); "
            "os.write(1, f\"{os.environ['RANK']} {where}\\n\".encode())"
        )
        program = (sys.executable, "-c", script)
        ranks = len(cores) + 1
        done = gyre_run("-n", str(ranks), "--bind-to", "core", *program)
        wanted = [f"{rank} {cores[rank % len(cores)]}" for rank in range(ranks)]
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(wanted))
        done = gyre_run("-n", "1", "--bind-to", "none", *program)
        self.assertEqual({int(core) for core in done.stdout.split()[1:]}, set(cores))
        self.assertEqual(gyre_run("--bind-to", "moon", *program).returncode, 2)

    def test_arguments_of_the_program_are_its_own(self):
        result = gyre_run("-n", "1", "printf", "%s,", "-n", "5", "--env", "--", "a b", "")
        self.assertEqual(result.stdout, "-n,5,--env,--,a b,,")
        result = gyre_run("-n", "1", "--", "printf", "%s", "--help")
        self.assertEqual(result.stdout, "--help")


class Usage(unittest.TestCase):
    def test_mistakes_are_refused_by_name(self):
        for arguments, words in [
            ((), "which program"),
            (("-n", "0", "true"), "0"),
            (("-n", "x", "true"), "x"),
            (("-e", "oops", "true"), "'oops' is not NAME=value"),
            (("--oops", "true"), "--oops"),
            (("--timeout", "nan", "true"), "nan"),
            (("--timeout", "0", "true"), "0.001"),
            (("--grace", "nan", "true"), "nan"),
            (("--grace", "-1", "true"), "-1"),
        ]:
            with self.subTest(arguments=arguments):
                result = gyre_run(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr)

    def test_a_program_that_is_not_there(self):
        result = gyre_run("-n", "2", "/no/such/program")
        self.assertEqual(result.returncode, 127)
        self.assertIn("'/no/such/program': No such file", result.stderr)


class Streams(unittest.TestCase):
    def test_only_rank_0_reads_standard_input(self):
        result = gyre_run("-n", "3", "-l", "cat", input="from the user\n")
        self.assertEqual(result.stdout, "[0] from the user\n")

    def test_tagged_lines_are_never_mixed(self):
        # Every rank writes its lines in two halves, so that an unguarded merge would mix them.
        script = "for i in $(seq 200); do printf 'aaaa'; printf '%s:%s\\n' $RANK $i; done"
        result = gyre_run("-n", "4", "--tag-output", "sh", "-c", script)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 800)
        for rank in range(4):
            own = [line for line in lines if line.startswith(f"[{rank}] ")]
            self.assertEqual(own, [f"[{rank}] aaaa{rank}:{i}" for i in range(1, 201)])

    def test_streams_stay_apart_and_an_unfinished_line_is_kept(self):
        result = gyre_run("-n", "2", "-l", "sh", "-c", "printf out; printf err >&2")
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] out", "[1] out"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] err", "[1] err"])

    def test_output_that_a_failing_rank_left_in_the_pipe_is_shown(self):
        result = gyre_run("-n", "1", "-l", "sh", "-c", "seq 5000; exit 9")
        self.assertEqual(result.stdout, "".join(f"[0] {i}\n" for i in range(1, 5001)))
        self.assertEqual(result.returncode, 9)

    def test_a_reader_that_leaves_ends_the_job(self):
        with Job("-n", "2", "-l", "yes") as job:
            job.lines(10)
            job.process.stdout.close()
            self.assertEqual(job.process.wait(LIMIT), 128 + signal.SIGPIPE)

    def test_descriptors_of_the_launcher_stay_its_own(self):
        show = ["sh", "-c", "ls /proc/self/fd | wc -l"]
        alone = subprocess.run(show, capture_output=True, text=True, timeout=LIMIT).stdout.strip()
        tagged = gyre_run("-n", "3", "-l", *show).stdout.splitlines()
        self.assertEqual(sorted(tagged), [f"[{rank}] {alone}" for rank in range(3)])

    def test_signal_mask_and_dispositions_are_as_before(self):
        show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
        alone = subprocess.run(show, capture_output=True, text=True, timeout=LIMIT).stdout
        self.assertEqual(gyre_run("-n", "1", *show).stdout, alone)


class Failure(unittest.TestCase):
    def test_success_is_zero(self):
        self.assertEqual(gyre_run("-n", "4", "true").returncode, 0)

    def test_a_rank_that_exits_is_named_and_the_rest_ended(self):
        result = gyre_run("-n", "4", "sh", "-c", f"[ $RANK = 2 ] && exit 7; {FOREVER}")
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, r"rank 2 \(pid \d+\) exited with status 7")
        self.assertIn("ending the 3 other ranks", result.stderr)
        self.assertEqual(len(re.findall(r"rank \d+ \(pid", result.stderr)), 1, result.stderr)

    def test_a_rank_that_is_killed_is_named_with_the_signal(self):
        result = gyre_run("-n", "3", "sh", "-c", f"[ $RANK = 1 ] && kill -9 $$; {FOREVER}")
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        self.assertRegex(result.stderr, r"rank 1 \(pid \d+\) was ended by signal 9 \(Killed\)")

    def test_ranks_that_ignore_sigterm_or_are_stopped_are_killed(self):
        script = (
            "trap '' TERM; echo $$; [ $RANK = 0 ] && read go && exit 5;"
            "[ $RANK = 1 ] && kill -STOP $$; while :; do sleep 0.1; done"
        )
        with Job("-n", "3", "--grace", "0.2", "sh", "-c", script, stdin=subprocess.PIPE) as job:
            pids = [int(line) for line in job.lines(3)]
            job.process.stdin.write(b"go\n")
            status, _, err = job.end()
        self.assertEqual(status, 5)
        self.assertIn("did not end in time: killing", err)
        self.assertTrue(all(gone(pid) for pid in pids))

    def test_grandchildren_are_not_left_behind(self):
        script = "sleep 1000 & echo $!; [ $RANK = 0 ] && read go && exit 3; wait"
        with Job("-n", "2", "sh", "-c", script, stdin=subprocess.PIPE) as job:
            pids = [int(line) for line in job.lines(2)]
            job.process.stdin.write(b"go\n")
            self.assertEqual(job.end()[0], 3)
        self.assertTrue(all(gone(pid) for pid in pids))

    def test_keep_going_lets_the_others_finish(self):
        script = "[ $RANK = 0 ] && exit 4; echo done"
        result = gyre_run("-n", "3", "--keep-going", "sh", "-c", script)
        self.assertEqual(result.returncode, 4)
        self.assertEqual(result.stdout, "done\n" * 2)

    def test_timeout_names_who_still_runs(self):
        script = f"[ $RANK = 0 ] && exit 0; {FOREVER}"
        result = gyre_run("-n", "3", "--timeout", "0.3", "sh", "-c", script)
        self.assertEqual(result.returncode, 124)
        self.assertIn("still running: rank 1, 2", result.stderr)


class Signals(unittest.TestCase):
    def test_signals_reach_every_rank(self):
        for number in (
            signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
        ):
            with self.subTest(signal=number.name):
                name = number.name[3:]
                # Loops of short sleeps: a shell runs its trap when the foreground command ends.
                script = f"trap 'echo got $RANK; exit 0' {name}; echo up; while :; do sleep 0.02; done"
                with Job("-n", "3", "sh", "-c", script) as job:
                    job.lines(3)
                    job.process.send_signal(number)
                    status, out, _ = job.end()
                self.assertEqual(status, 0)
                self.assertEqual(sorted(out.splitlines()[3:]), ["got 0", "got 1", "got 2"])

    def test_a_signal_nobody_handles_ends_the_job_with_its_number(self):
        with Job("-n", "2", "sh", "-c", f"echo up; {FOREVER}") as job:
            job.lines(2)
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.end()[0], 128 + signal.SIGTERM)

    def test_asking_twice_kills(self):
        script = "trap '' TERM; trap 'echo asked' INT; echo up; while :; do sleep 0.02; done"
        with Job("-n", "1", "sh", "-c", script) as job:
            job.lines(1)
            job.process.send_signal(signal.SIGINT)
            self.assertEqual(job.lines(2), ["up", "asked"])
            job.process.send_signal(signal.SIGINT)
            self.assertEqual(job.end()[0], 128 + signal.SIGKILL)

    def test_a_terminals_interrupt_arrives_once(self):
        script = "trap 'echo got' INT; echo up; for i in $(seq 50); do sleep 0.02; done; echo end"
        leader, follower = os.openpty()
        with Job("-n", "2", "sh", "-c", script, stdin=follower, preexec_fn=take_terminal) as job:
            job.lines(2)
            os.write(leader, b"\x03")
            status, out, _ = job.end()
        os.close(leader)
        os.close(follower)
        self.assertEqual(status, 0)
        self.assertEqual(out.count("got"), 2)

    def test_ranks_die_with_a_killed_launcher(self):
        for options in ((), ("-l",)):
            with self.subTest(options=options):
                with Job("-n", "3", *options, "sh", "-c", f"echo $$; {FOREVER}") as job:
                    pids = [int(line.split()[-1]) for line in job.lines(3)]
                    job.process.kill()
                    self.assertTrue(wait_for(lambda: all(gone(pid) for pid in pids)))


def take_terminal():
    """In the child: makes its standard input the controlling terminal of a session of its own."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
