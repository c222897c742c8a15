# SPDX-License-Identifier: MIT
"""The errors that the package raises."""


class XpuloadError(Exception):
    """Something could not be done; the text says what, why, and what to do about it."""
