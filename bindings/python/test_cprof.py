# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m unittest: needs an installed libcprof.so.0, or CPROF_LIBRARY."""
import os
import subprocess
import tempfile
import threading
import time
import unittest

import cprof


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def burn_until_sampled():
    for _ in range(200):
        burn(0.1)
        if cprof.stats()["samples"] > 10:
            break


def tags(path):
    return subprocess.run([os.environ.get("CPROF", "cprof"), "tags", path], check=True, capture_output=True,
                          text=True).stdout


class Labels(unittest.TestCase):
    def test_a_block_puts_the_value_before_back(self):
        self.assertIsNone(cprof.label("route"))
        with cprof.labels(route="/a", size=3):
            self.assertEqual(cprof.label("route"), "/a")
            self.assertEqual(cprof.label("size"), "3")
            with cprof.labels(route="/b"):
                self.assertEqual(cprof.label("route"), "/b")
            self.assertEqual(cprof.label("route"), "/a")
        self.assertIsNone(cprof.label("route"))
        self.assertIsNone(cprof.label("size"))

    def test_a_block_that_raises_does_too(self):
        with self.assertRaises(KeyError):
            with cprof.labels(route="/a"):
                raise KeyError
        self.assertIsNone(cprof.label("route"))

    def test_a_function_that_calls_itself(self):
        @cprof.labels(job="sum")
        def total(n):
            "adds"
            self.assertEqual(cprof.label("job"), "sum")
            return n + total(n - 1) if n else 0
        self.assertEqual(total(5), 15)
        self.assertEqual(total.__doc__, "adds")
        self.assertIsNone(cprof.label("job"))

    def test_threads_have_their_own(self):
        seen = []
        with cprof.labels(route="/a"):
            thread = threading.Thread(target=lambda: seen.append(cprof.label("route")))
            thread.start()
            thread.join()
        self.assertEqual(seen, [None])

    def test_what_the_library_refuses_is_an_error(self):
        with cprof.labels(first="1"):
            with self.assertRaises(OSError):
                with cprof.labels(first="2", **{"": "no key"}):
                    self.fail("an empty key is taken")
            self.assertEqual(cprof.label("first"), "1")
        with self.assertRaises(ValueError):
            cprof.labels(route="a\0b")


class Spans(unittest.TestCase):
    def test_they_are_counted(self):
        @cprof.span("function")
        def work():
            time.sleep(0.001)
        work()
        with cprof.span("block"), cprof.span("block"):
            pass
        self.assertEqual(cprof.span_stats("block")["count"], 2)
        self.assertEqual(cprof.span_stats("function")["count"], 1)
        self.assertGreaterEqual(cprof.span_stats("function")["max_ns"], 1000000)
        self.assertIsNone(cprof.span_stats("never"))

    def test_costs(self):
        with tempfile.TemporaryDirectory() as directory:
            cprof.start(cpu=os.path.join(directory, "cpu.pb"))
            with cprof.span("costs"):
                end = time.thread_time() + 0.02
                while time.thread_time() < end:
                    pass
                time.sleep(0.01)
            cprof.stop()
        stats = cprof.span_stats("costs")
        self.assertGreaterEqual(stats["cpu_ns"], 19000000)
        self.assertGreaterEqual(stats["wait_ns"], 9000000)
        self.assertLessEqual(stats["cpu_ns"] + stats["wait_ns"], stats["sum_ns"])


class Profiles(unittest.TestCase):
    def test_a_profile_has_the_labels(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "app.pb")
            cprof.start(cpu=path, frequency=1000, checkpoint_ms=cprof.OFF, labels={"version": "7"})
            with cprof.labels(route="/busy"):
                burn_until_sampled()
            cprof.dump(os.path.join(directory, "dump.pb"))
            cprof.dump_last(10)
            self.assertGreater(cprof.stats()["samples"], 10)
            self.assertEqual(cprof.stats()["period"], 1000000)
            cprof.stop()
            for name in "dump.pb", "app.pb":
                text = tags(os.path.join(directory, name))
                self.assertIn("/busy", text)
                self.assertIn("version", text)

    def test_mistakes(self):
        with self.assertRaises(TypeError):
            cprof.start(cpu="x.pb", frequenzy=3)
        with self.assertRaises(OSError):
            cprof.start(cpu="x.pb", frequency=100000)
        with self.assertRaises(OSError):
            cprof.stop(99)

    def test_version(self):
        self.assertRegex(cprof.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
