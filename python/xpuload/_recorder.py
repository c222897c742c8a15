# SPDX-License-Identifier: MIT
"""The recorder of this process: a child xpuload that attaches for each recording, and the shim.

xpuload --control makes a recording between the commands share and disable, and answers each command
when it is done. Without BPF, the answer to share contains an address, to which the shim sends
its memory.
"""
import atexit
import ctypes
import os
import select
import shutil
import subprocess
import tempfile
import time

from xpuload import _programs
from xpuload._errors import RecordingError

ANSWER_S = 120			# how long xpuload may take for a command
FOLLOW_S = 0.005		# pause before the shim looks for xpuload again
REASON_S = 5			# how long a message of the shim may take to reach xpuload
SHIM = "libxpushim.so"
SHIM_IS_BUSY = -4		# an answer of xpuload_share()
NOT_SHARED = {			# other answers of xpuload_share()
    -2: "xpuload records this process already",
    -3: "the memory of the last recording cannot be used again: a thread still writes to it, or "
        "the program closed its descriptor; start the program again",
    SHIM_IS_BUSY: "the shim's thread does not answer",
}

_shim = None			# the loaded library
_shim_pid = None		# the process that loaded it


def _mapped_shim():
    """Returns the path of the shim that this process has mapped already, or None."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            path = line.rstrip("\n").split(None, 5)[5:]
            if path and path[0].endswith("/" + SHIM):
                return path[0]
    return None


def load_shim():
    """Loads the shim into this process, unless it is preloaded.

    In a process without other threads, the shim sets the variables by which the CUDA driver and
    NVTX find it. Otherwise CUDA may be in use already, so the shim starts as if CUDA had loaded it.
    """
    global _shim, _shim_pid
    if os.environ.get("XPUSHIM_RUN"):
        raise RecordingError("xpuload records this process already: record() is for programs that "
                             "xpuload did not start")
    if _shim_pid not in (None, os.getpid()):
        raise RecordingError("this process was forked from pid %d, which had the shim: the shim "
                             "does not record in forked children; start workers with spawn" %
                             _shim_pid)
    if _shim is not None:
        return
    preloaded = _mapped_shim()
    try:
        shim = ctypes.CDLL(preloaded or _programs.find(SHIM))
    except OSError as e:
        raise RecordingError("cannot load the shim: %s" % e) from e
    if not preloaded:
        shim.InitializeInjection()
    _shim, _shim_pid = shim, os.getpid()


def follow():
    """Makes the shim look for xpuload now. Returns 1, 0, or -1: see shim__follow()."""
    return _shim.xpuload_follow()


def share(address):
    """Makes the shim share memory with the xpuload at address; None ends that.

    Returns the same numbers as follow().
    """
    end = time.monotonic() + ANSWER_S
    answer = _shim.xpuload_share(address)
    while answer == SHIM_IS_BUSY and time.monotonic() < end:
        answer = _shim.xpuload_share(address)
    if answer in NOT_SHARED:
        raise RecordingError("cannot record: " + NOT_SHARED[answer])
    return answer


class Recorder:
    """A running xpuload. One recording is made at a time."""

    def __init__(self, options):
        self.options = options
        self.pid = os.getpid()
        self.folder = tempfile.mkdtemp(dir=folder())
        self._nr = 0
        self.address = None		# where xpuload waits for the shared memory; None: nowhere
        log = os.path.join(self.folder, "log")
        with open(log, "ab", buffering=0) as to:
            self._log = open(log, "rb", buffering=0)
            self._start(to)

    def _start(self, log):
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        try:
            # xpuload gets a separate session, so that Ctrl-C reaches only the program, which ends
            # the recording.
            self._process = subprocess.Popen(
                [_programs.find("xpuload"), *self.options, "-o",
                 os.path.join(self.folder, "w%n.data"), "--control", "fd:%d,%d" % (orders, answers),
                 *([] if any(o.startswith("--inj") for o in self.options)
                   else ["--no-inject"]), "-p", str(self.pid)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(orders, answers, _janitor.stdin.fileno()), start_new_session=True)
        except OSError as e:
            self.close_here()
            raise RecordingError("cannot start xpuload: %s" % e) from e
        finally:
            os.close(orders)
            os.close(answers)

    def is_alive(self):
        return self._process.poll() is None

    def messages(self):
        """Returns the lines that xpuload has printed since the last call."""
        text = self._log.read().decode("utf-8", "replace")
        return [line.strip() for line in text.splitlines() if line.strip()]

    def order(self, command):
        """Gives a command, and waits until xpuload has done it.

        Returns what follows "ack", and xpuload's messages.
        """
        try:
            os.write(self._orders, command.encode() + b"\n")
            answer = self._answer()
        except BrokenPipeError:
            answer = ""
        messages = self.messages()
        word, _, rest = answer.partition(" ")
        if word != "ack":
            raise RecordingError("cannot record: %s" % (
                self._reason(messages) or
                ("xpuload answers '%s' to %s" % (answer, command) if answer else
                 "xpuload has ended, without a message")))
        return rest, messages

    def _reason(self, messages):
        """Returns the text of the messages that say why nothing is recorded, or ""."""
        shims = "warning: pid %d: " % self.pid
        own = [line.partition(shims)[2] for line in messages if shims in line]
        rest = [line for line in messages
                if "xpuload: attached to" not in line and " launches from " not in line]
        return "; ".join(own) or (_programs.last_line(rest[-1].encode()) if rest else "")

    def _answer(self):
        line, end = b"", time.monotonic() + ANSWER_S
        while not line.endswith(b"\n"):
            if not select.select([self._answers], [], [], FOLLOW_S)[0]:
                follow()
                if time.monotonic() > end:
                    return "no answer in %d s" % ANSWER_S
                continue
            byte = os.read(self._answers, 1)
            if not byte:
                return ""
            line += byte
        return line.decode("ascii", "replace").strip()

    def begin(self):
        """Begins a recording. All launches that begin after this are in it."""
        rest, messages = self.order("share")
        self.address = rest.partition(" ")[2].encode() or None
        end = time.monotonic() + REASON_S
        state = share(self.address) if self.address else follow()
        while state < 0:
            # The shim's message says why, but xpuload prints the message only after a moment.
            messages += self.messages()
            reason = self._reason(messages)
            if reason or time.monotonic() > end:
                raise RecordingError("cannot record: %s" % (reason or "the shim does not wake up"))
            time.sleep(FOLLOW_S)
            state = follow()

    def end(self):
        """Ends the recording. Returns its path, and xpuload's messages."""
        messages = self.order("disable")[1]
        if self.address:
            share(None)
        return self.take(), messages

    def take(self):
        """Gives the recording a unique name, because xpuload reuses names that are free."""
        made = [name for name in os.listdir(self.folder)
                if name.startswith("w") and name.endswith(".data")]
        if not made:
            raise RecordingError("xpuload has written no recording in %s" % self.folder)
        self._nr += 1
        path = os.path.join(self.folder, "recording-%d.data" % self._nr)
        move(os.path.join(self.folder, made[0]), path)
        return path

    def close_here(self):
        """Closes this process's ends of the pipes, of which a forked child has copies."""
        for fd in (self._orders, self._answers):
            os.close(fd)
        self._log.close()

    def close(self):
        if self.address:
            try:
                share(None)
            except RecordingError:
                pass			# the shim's thread is stuck; it will see that xpuload ended
        try:
            os.write(self._orders, b"stop\n")
        except OSError:
            pass			# xpuload has ended
        self.close_here()
        try:
            self._process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        follow()			# the shim repeats its messages for the next recorder
        shutil.rmtree(self.folder, ignore_errors=True)


_folder = None			# a directory for all recordings of this process
_janitor = None			# the child process that removes _folder


def folder():
    """Returns a directory for recordings. It lives as long as the process.

    A process that is killed, or ends with os._exit(), removes nothing. So a shell waits until
    neither this process nor xpuload has the other end of its pipe, and removes the directory.
    """
    global _folder, _janitor
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="xpuload-")
        _janitor = subprocess.Popen(["/bin/sh", "-c", 'read -r end; rm -rf "$0"', _folder],
                                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, start_new_session=True)
    return _folder


def _remove_folder():
    if _janitor:
        _janitor.stdin.close()
        _janitor.wait()


def move(path, to):
    """Moves a recording, with the copies of files that are next to it."""
    for suffix in ("", ".files"):
        if os.path.exists(path + suffix):
            if suffix and os.path.isdir(to + suffix):
                shutil.rmtree(to + suffix)
            shutil.move(path + suffix, to + suffix)


def remove(path):
    """Removes a recording, with the copies of files that are next to it."""
    shutil.rmtree(path + ".files", ignore_errors=True)
    try:
        os.unlink(path)
    except OSError:
        pass


_recorder = None


def get(options):
    """Returns the recorder of this process; starts a new one if the options have changed."""
    global _recorder
    if _recorder and (_recorder.options != options or not _recorder.is_alive()):
        drop()
    if _recorder is None:
        _recorder = Recorder(options)
    return _recorder


def drop():
    """Ends the recorder, if there is one."""
    global _recorder
    recorder, _recorder = _recorder, None
    if recorder:
        recorder.close()


def _in_child():
    global _recorder
    global _folder, _janitor
    recorder, _recorder = _recorder, None
    if recorder:
        recorder.close_here()
    if _janitor:
        os.close(_janitor.stdin.detach().fileno())
    _folder = _janitor = None


os.register_at_fork(after_in_child=_in_child)
atexit.register(_remove_folder)
atexit.register(drop)
