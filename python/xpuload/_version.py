# SPDX-License-Identifier: MIT
"""The version. make_wheel.py replaces this file by the version in GNUmakefile."""
VERSION = "0+source"
