# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# python_package.sh - the Python package under test: . "$XPU_SRC/test/lib/python_package.sh"
#
# Needs a python3 of version 3.9 or later.

[ -z "$XPU_SAN" ] || skip_all "not with sanitizers in Python"
need python3
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
	skip_all "python3 is older than 3.9"
export PYTHONDONTWRITEBYTECODE=1

# make_tree: makes ./tree, with the built programs and this test's shim
make_tree() {
	own=${XPU_OWN:-$XPU_BUILD}
	mkdir -p tree/bin tree/lib/xpuload tree/share/man/man1
	cp "$XPULOAD" "$XPUMERGE" tree/bin
	cp "$XPU_SHIM" "$XPU_SRC/scripts/fold.sh" tree/lib/xpuload
	cp "$own/xpuload-metrics" tree/lib/xpuload 2>/dev/null
	cp "$XPU_SRC/README.md" "$XPU_SRC/LICENSE" "$XPU_SRC"/LICENSES/* tree
	echo '.Dd' >tree/share/man/man1/xpuload.1
}

# make_wheel TREE OUT: writes the wheel of a tree to the directory OUT, and prints its name
make_wheel() {
	python3 "$XPU_SRC/python/make_wheel.py" --tree "$1" --version 9.8.7 \
		--arch "$(uname -m)" --glibc 2.28 --out "$2"
}

# use_package: makes `import xpuload` find the sources and this test's programs
use_package() {
	XPULOAD_TREE=${XPU_OWN:-$XPU_BUILD} PYTHONPATH=$XPU_SRC/python
	export XPULOAD_TREE PYTHONPATH
}

# use_launches: like use_package; also, scripts can launch on the simulated device with the library
# PY_LAUNCH. Nothing may stay in TMPDIR.
use_launches() {
	use_sim
	use_package
	PY_LAUNCH=$XPU_BUILD/workload/py_launch.so TMPDIR=$PWD/tmp
	export PY_LAUNCH TMPDIR
	mkdir tmp
	PYTHONPATH=$PYTHONPATH:$PWD
}

# bare COMMAND...: runs COMMAND without privileges
bare() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --bounding-set -all --inh-caps -all --no-new-privs "$@"
	else
		"$@"
	fi
}

# python NAME <<SCRIPT: runs the script without privileges, and checks that it exits with 0 and
# prints nothing on stdout. $python may name another interpreter.
python() {
	bare "${python:-python3}" - >python.out 2>python.err
	is "$? $(cat python.out)" "0 " "$1" || diag "$(tail -n 12 python.err)"
}
