# SPDX-License-Identifier: MIT
"""The errors that the package raises."""


class XpuloadError(Exception):
    """Something could not be done; the text says what, why, and what to do about it."""


class RecordingError(XpuloadError):
    """This process could not be recorded."""


class AlreadyRecordingError(RecordingError):
    """Another recording of this process is still open: only one can be made at a time."""
