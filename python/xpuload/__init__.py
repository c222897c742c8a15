# SPDX-License-Identifier: MIT
"""xpuload from Python: which call path launched each GPU kernel, and how long it ran.

The package has the programs xpuload and xpumerge of a portable build, and is a thin layer over
them. See doc/python.md.
"""
from xpuload._errors import AlreadyRecordingError, RecordingError, XpuloadError
from xpuload._version import VERSION as __version__
from xpuload.recording import Recording, record, schedule
from xpuload.results import Result, Rows, read

__all__ = ["AlreadyRecordingError", "Recording", "RecordingError", "Result", "Rows", "XpuloadError",
           "__version__", "read", "record", "schedule"]


def load_ipython_extension(shell):
    """%load_ext xpuload calls this."""
    from xpuload import magic
    magic.load(shell)
