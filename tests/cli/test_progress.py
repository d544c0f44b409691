import io
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from whyflag.cli import progress
from whyflag.progress import steps, work


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def hasty(monkeypatch):
    """Tell at once, so that no test waits."""
    monkeypatch.setattr(progress, "FIRST", 0.01)
    monkeypatch.setattr(progress, "PAUSES", (0.01,))
    monkeypatch.setattr(progress, "BLINK", 0.01)


def told(monkeypatch, where, quiet=False):
    @progress.with_progress
    def command(*, until):
        for _ in steps(range(4), "fitting", "part"):
            with work("reading", "byte", 200) as bar:
                bar.update(50)
                end = time.monotonic() + 30
                while not until(where.getvalue()) and time.monotonic() < end:
                    time.sleep(0.01)
        return

    monkeypatch.setattr(sys, "stderr", where)
    seen = [0]

    def until(text):  # until there is more than there was
        if quiet or len(text) > seen[0]:
            seen[0] = len(text)
            return True
        return False

    command(until=until, quiet=quiet)
    return where.getvalue()


def test_a_pipe_gets_lines_that_move_with_the_time_left(monkeypatch, hasty):
    lines = told(monkeypatch, io.StringIO()).splitlines()
    assert lines[0].startswith("fitting: 0 of 4 parts; reading: 25 % (")
    assert any(line.startswith("fitting: 3 of 4 parts; reading: 25 % (") for line in lines)
    assert all("left)" in line for line in lines if line.startswith("fitting"))


def test_a_terminal_has_one_line_that_is_gone_in_the_end(monkeypatch, hasty):
    text = told(monkeypatch, Terminal())
    assert "\n" not in text
    assert text.endswith("\r\x1b[K\r")


def test_nothing_is_told_if_it_is_asked_for(monkeypatch, hasty):
    assert told(monkeypatch, io.StringIO(), quiet=True) == ""


def test_the_time_left_is_that_of_the_whole():
    stack = progress._Stack(io.StringIO())
    with stack.begin("calibrating", "fit", 10) as whole, stack.begin("GMM", "start", 4) as part:
        whole.update(2)
        part.update(2)
        line = stack.line(whole.began + 20.0)
    # A quarter is done: 2.5 fits of 10, in 20 seconds.
    assert line == "calibrating: 2 of 10 fits; GMM: 2 of 4 starts (20 s, about 60 s left)"


def test_what_is_read_whole_is_not_told_of_any_more():
    stack = progress._Stack(io.StringIO())
    with stack.begin("reading", "byte", 10) as read, stack.begin("explaining", "row", 10):
        read.update(10)
        assert stack.line(read.began).startswith("explaining: 0 of 10 rows (0 s")


def test_a_reader_that_has_gone_ends_nothing(monkeypatch, hasty):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    @progress.with_progress
    def command():
        time.sleep(0.1)

    monkeypatch.setattr(sys, "stderr", Gone())
    command()


def test_long_commands_tell_how_far_they_are_in_a_pipe(tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(400, 4)), columns=[*"abcd"]).to_csv(tmp_path / "n.csv")
    hurry = (
        "from whyflag.cli import app, progress; progress.FIRST = 0.0; progress.PAUSES = (0.05,); "
        "app()"
    )
    said = {
        option: subprocess.run(  # noqa: S603
            [sys.executable, "-c", hurry, "fit", "n.csv", "-o", "m", *option],
            capture_output=True,
            check=True,
            text=True,
            cwd=tmp_path,
        ).stderr.splitlines()
        for option in ((), ("--quiet",))
    }
    assert any(line.startswith("calibrating: ") for line in said[()])
    assert not any(line.endswith(" s)") or "left)" in line for line in said["--quiet",])
