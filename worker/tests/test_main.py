"""python -m ludus_worker: what it insists on before it listens."""

import os
import pathlib
import subprocess
import sys
import unittest

worker = pathlib.Path(__file__).parents[1]


def run(*args: str, **env: str) -> subprocess.CompletedProcess:
    known = {name: value for name, value in os.environ.items() if name != "LUDUS_WORKER_TOKEN"}
    return subprocess.run(
        [sys.executable, "-m", "ludus_worker", *args],
        env={**known, "PYTHONPATH": str(worker), **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


class MainTest(unittest.TestCase):
    def test_an_address_that_others_reach_needs_a_token(self):
        for host in ("0.0.0.0", "192.168.1.5", "gpu-machine"):
            done = run("--host", host)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("LUDUS_WORKER_TOKEN", done.stderr)
            self.assertIn(host, done.stderr)

    def test_with_a_token_it_needs_tls_too(self):
        done = run("--host", "0.0.0.0", LUDUS_WORKER_TOKEN="secret")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--tls-certificate", done.stderr)

    def test_options_it_does_not_know_are_refused(self):
        done = run("--prot", "7000", "--gpus", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unrecognized arguments", done.stderr)

    def test_it_ends_with_the_program_that_started_it(self):
        # standard input is closed from the beginning
        done = run("--parent")
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
