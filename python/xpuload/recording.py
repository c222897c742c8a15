# SPDX-License-Identifier: MIT
"""Recording this process: with xpuload.record("step.html"): ..., a decorator, and schedules.

A launch is in the recording if its call lies wholly inside the block, on any thread, and is not in
it if its call lies wholly outside.
"""
import atexit
import functools
import inspect
import itertools
import os
import subprocess
import sys
import threading
import weakref

from xpuload import _programs, _recorder
from xpuload._errors import AlreadyRecordingError, XpuloadError
from xpuload.results import Result, options_of

OWN = ("output", "pid", "control", "all", "every", "push", "capture", "duration", "quiet", "check")
# With one of these options, xpuload itself chooses the transport, because CPU samples need BPF.
BY_BPF = {"freq", "off_cpu", "call_graph", "transport"}

_lock = threading.Lock()
_active = None			# the Recording whose block is open
_numbers = itertools.count(1)	# for the names of temporary recordings
_merging = []			# Recordings that wait for xpumerge
_newest = {}			# maps each output path to the newest file written for this path


class Schedule:
    """Says in which steps a recording is made: see schedule()."""

    def __init__(self, wait, warmup, active, repeat, skip_first):
        for name, value in (("wait", wait), ("warmup", warmup), ("active", active),
                            ("repeat", repeat), ("skip_first", skip_first)):
            if not isinstance(value, int) or value < (name == "active"):
                raise XpuloadError("schedule(%s=%r): expected a number of steps" % (name, value))
        self.before = wait + warmup
        self.length = wait + warmup + active
        self.repeat = repeat
        self.skip_first = skip_first

    def cycle(self, step):
        """Returns the number of the recording that has a step, from 0, or None."""
        step -= self.skip_first
        if step < 0 or step % self.length < self.before:
            return None
        cycle = step // self.length
        return None if self.repeat and cycle >= self.repeat else cycle


def schedule(*, wait=0, warmup=0, active=1, repeat=0, skip_first=0):
    """Returns a schedule of cycles as torch.profiler has it: wait, warmup and active steps.

    Only the active steps are recorded: the recorder needs no warmup. repeat says how many cycles
    there are; with 0, cycles repeat until the block ends.
    """
    return Schedule(wait, warmup, active, repeat, skip_first)


def _caller():
    """Returns FILE:LINE of the code that opened the block."""
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").startswith(("xpuload.", "contextlib")):
        frame = frame.f_back
    return "%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno) if frame else "?"


def _numbered(path, nr):
    """Returns the name of recording @nr of several: step.html becomes step-1.html."""
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    return os.path.join(folder, "%s-%d%s%s" % (stem, nr, dot, suffix))


class Recording:
    """The object of record(). It can be entered repeatedly; each time makes a recording."""

    def __init__(self, path, on_ready, steps, options):
        for name in options:
            if name.rstrip("_").replace("-", "_") in OWN:
                raise XpuloadError("record(%s=...): record() sets this option of xpuload itself" %
                                   name)
        self.path = os.fspath(path) if path is not None else None
        if self.path is not None and not os.path.isdir(os.path.dirname(self.path) or "."):
            raise XpuloadError("%s: there is no such directory" % os.path.dirname(self.path))
        self.messages = []		# what xpuload has said
        self._on_ready = on_ready
        self._schedule = steps
        self._options = options_of(options)
        # Looking up names takes up to a second, so by default the program goes on meanwhile.
        self._names_later = "names" not in options
        if self._names_later:
            self._options.append("--names=later")
        if not BY_BPF.intersection(name.rstrip("_").replace("-", "_") for name in options):
            self._options = ["--gpu-only", "--transport=shm",
                             *(o for o in self._options if o != "--gpu-only")]
        self._step = self._cycle = None
        self._recorder = self._where = self._pid = None
        self._results = []		# (Result, path of the written file or None)
        self._jobs = []			# running xpumerge processes

    # ---- the block -------------------------------------------------------------------------------

    def __enter__(self):
        global _active
        with _lock:
            if _active is not None:
                raise AlreadyRecordingError(
                    "%s records this process already: only one recording is made at a time; end "
                    "that block first" % _active._where)
            self._where, _active = _caller(), self
        self._pid = os.getpid()
        try:
            _recorder.load_shim()
            self._recorder = _recorder.get(self._options)
            if self._schedule is None:
                self._recorder.begin()
            else:
                self._step = -1
                self._advance()
        except BaseException:
            with _lock:
                _active = None
            _recorder.drop()
            raise
        return self

    def __exit__(self, kind, error, trace):
        global _active
        if os.getpid() != self._pid or _active is not self:
            return False		# a forked child leaves the block to its parent
        try:
            if self._schedule is None or self._cycle is not None:
                self._finish()
        except XpuloadError as e:
            _recorder.drop()
            if error is None:
                raise
            print("xpuload: %s" % e, file=sys.stderr)
        except BaseException:
            _recorder.drop()
            raise
        finally:
            self._cycle = None
            with _lock:
                _active = None
        return False

    def step(self):
        """Ends a step, as torch.profiler's step() does: the schedule says what the next one is."""
        if self._schedule is None:
            raise XpuloadError("step() is for record(..., schedule=xpuload.schedule(...))")
        if _active is not self or os.getpid() != self._pid:
            raise XpuloadError("step() is for inside of the block")
        self._advance()

    def _advance(self):
        self._step += 1
        cycle = self._schedule.cycle(self._step)
        if cycle == self._cycle:
            return
        if self._cycle is not None:
            self._finish()
        self._cycle = cycle
        if cycle is not None:
            self._recorder.begin()

    def _finish(self):
        data, messages = self._recorder.end()
        self.messages += messages
        nr = len(self._results) + 1
        path = self.path
        if path is not None and self._schedule is not None and self._schedule.repeat != 1:
            path = _numbered(path, nr)
        is_data = path is not None and path.endswith(".data")
        to = path if is_data else os.path.join(_recorder.folder(), "%d.data" % next(_numbers))
        _recorder.move(data, to)
        result = Result([to], {})
        self._results.append((result, path))
        if not is_data:
            # The Result reads the recording, so the file stays until nobody has the Result.
            weakref.finalize(result, _recorder.remove, to).atexit = False
            if path is not None:
                self._merge(to, path)
        elif self._names_later:
            whole = os.path.abspath(path)
            self._merge(to, whole, "%s-%d-%d-named.data" % (whole[:-len(".data")], os.getpid(),
                                                            next(_numbers)))
        if self._on_ready:
            self._on_ready(result)

    # ---- results -------------------------------------------------------------------------------

    def _merge(self, data, path, written=None):
        """Starts xpumerge; the program goes on meanwhile.

        @written: the file to write, which then replaces path
        """
        written = written or path
        name = os.path.join(".", written) if written.startswith("-") else written
        args = [data, "-o", name] if written == path else ["-i", data, "-o", name]
        process = subprocess.Popen([_programs.find("xpumerge"), *args],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, start_new_session=True)
        self._jobs.append((process, path, written))
        _newest[path] = written
        _merging.append(self)

    def wait(self):
        """Waits until all files of finished blocks are written. Returns self."""
        jobs, self._jobs = self._jobs, []
        failed = []
        for process, path, written in jobs:
            text = process.communicate()[1]
            if process.returncode not in (0, 1):
                failed.append("%s: %s" % (path, _programs.last_line(text)))
            elif written != path:
                try:
                    self._replace(path, written)
                except OSError as e:
                    failed.append("%s: %s" % (path, e))
        while self in _merging:
            _merging.remove(self)
        if failed:
            raise XpuloadError("; ".join(failed))
        return self

    @staticmethod
    def _replace(path, written):
        """Replaces a recording by the same one with names, if it is still there."""
        if _newest.get(path) == written:
            os.replace(written, path)
        else:
            os.unlink(written)

    @property
    def results(self):
        """The Result of each recording of this object, in order."""
        return [result for result, _ in self._results]

    @property
    def paths(self):
        """The names of the files that record() writes; wait() waits until they exist."""
        return [path for _, path in self._results if path is not None]

    @property
    def result(self):
        """The Result of the last recording."""
        if not self._results:
            raise XpuloadError("there is no result before the end of the block")
        return self._results[-1][0]

    def _repr_html_(self):
        return self.result._repr_html_() if self._results else "<p>nothing is recorded yet</p>"

    # ---- the decorator -------------------------------------------------------------------------

    def __call__(self, function):
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def recorded(*args, **kwargs):
                with self:
                    return await function(*args, **kwargs)
        elif inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def recorded(*args, **kwargs):
                with self:
                    return (yield from function(*args, **kwargs))
        else:
            @functools.wraps(function)
            def recorded(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)
        return recorded


def record(path=None, *, on_ready=None, schedule=None, **options):
    """Records this process: with record("step.html", memory=True) as prof: ...; or a decorator.

    @path: the file to write, whose suffix picks the format, as with xpumerge -o. A name with .data
    is the recording itself; without a path, there is only prof.result. The file is written while
    the program goes on. prof.wait() waits for it, and so does the end of the program.
    @on_ready: called with the Result of each recording, on the thread that ends it
    @schedule: schedule(); the loop then calls prof.step()
    Other arguments are options of xpuload: memory=True, gpu_only=True, api=True, freq=499, ...
    """
    return Recording(path, on_ready, schedule, options)


# ---- the end of the program, and forks ---------------------------------------------------------

def _at_exit():
    """Ends a block that is still open, on another thread, and waits for files."""
    recording = _active
    try:
        if recording is not None:
            recording.__exit__(None, None, None)
    except XpuloadError as e:
        print("xpuload: %s" % e, file=sys.stderr)
    for recording in list(dict.fromkeys(_merging)):
        try:
            recording.wait()
        except XpuloadError as e:
            print("xpuload: %s" % e, file=sys.stderr)


def _in_child():
    global _active, _lock
    _active, _lock = None, threading.Lock()
    _merging.clear()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
