# SPDX-License-Identifier: MIT
"""xpuload from Python: which call path launched each GPU kernel, and how long it ran.

The package has the programs xpuload and xpumerge of a portable build, and is a thin layer over
them. See doc/python.md.
"""
from xpuload._errors import XpuloadError
from xpuload._version import VERSION as __version__
from xpuload.results import Result, Rows, read

__all__ = ["Result", "Rows", "XpuloadError", "__version__", "read"]
