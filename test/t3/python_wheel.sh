#!/bin/sh
# SPDX-License-Identifier: MIT
# The wheel of make wheel: pip installs it without a network, its xpuload and xpumerge record and
# merge, each file is in RECORD with its hash, and a second build gives identical bytes.
. "$XPU_SRC/test/lib/tap.sh"
. "$XPU_SRC/test/lib/python_package.sh"
need shim

make_tree
wheel=$(make_wheel tree wheel)
is $? 0 "a wheel is written"
is "$wheel" "wheel/xpuload-9.8.7-py3-none-manylinux_2_28_$(uname -m).whl" \
	"the wheel's name has the version, the C library and the processor"

mkdir -p small/bin small/lib/xpuload
echo a | tee small/bin/xpuload small/bin/xpumerge small/lib/xpuload/libxpushim.so >/dev/null
first=$(SOURCE_DATE_EPOCH=1700000000 make_wheel small first)
touch -d 2001-01-01 small/bin/xpuload
cmp "$first" "$(SOURCE_DATE_EPOCH=1700000000 make_wheel small again)"
ok $? "a second wheel has the same bytes"
! cmp -s "$first" "$(SOURCE_DATE_EPOCH=1600000000 make_wheel small other)"
ok $? "a wheel with another date has different bytes"
rm small/bin/xpuload
make_wheel small none >none.out 2>&1
is "$? $(cat none.out)" \
	"1 make_wheel.py: small has no bin/xpuload: expected a tree of make portable" \
	"a directory that is no portable tree is refused"

python3 - "$wheel" <<'END' >record.out 2>&1
import base64, csv, hashlib, io, sys, zipfile

z = zipfile.ZipFile(sys.argv[1])
info = "xpuload-9.8.7.dist-info/"
rows = list(csv.reader(io.StringIO(z.read(info + "RECORD").decode())))
assert sorted(row[0] for row in rows) == sorted(z.namelist()), "a file is missing in RECORD"
for name, digest, size in rows:
    data = z.read(name)
    if name == info + "RECORD":
        assert not digest and not size
        continue
    raw = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert digest == "sha256=" + raw and int(size) == len(data), name
mode = {i.filename: i.external_attr >> 16 & 0o777 for i in z.infolist()}
assert mode["xpuload/_tree/bin/xpuload"] == 0o755
assert mode["xpuload/__init__.py"] == 0o644
assert "Requires-Python: >=3.9" in z.read(info + "METADATA").decode()
assert not [name for name in z.namelist() if "__pycache__" in name or name.startswith("/")]
END
is "$? $(cat record.out)" "0 " "RECORD has each file, with its size and its hash"

# install: installs the wheel into ./env, with pip if this Python has pip and venv
install() {
	if python3 -c 'import ensurepip, venv' 2>/dev/null && python3 -m venv env >venv.log 2>&1
	then
		how="pip install --no-index"
		env/bin/pip install --no-index --no-compile "$wheel" >pip.log 2>&1 || return 1
		bin=$PWD/env/bin
		return
	fi
	how="unpacked, because pip or venv is missing"
	python3 -m zipfile -e "$wheel" env/site && chmod +x env/site/xpuload/_tree/*/* || return 1
	mkdir env/bin
	for name in xpuload xpumerge; do
		printf '#!/bin/sh\nPYTHONPATH=%s exec python3 -c "%s" "$@"\n' "$PWD/env/site" \
			"from xpuload._programs import run_$name; run_$name()" >env/bin/$name
	done
	printf '#!/bin/sh\nPYTHONPATH=%s exec python3 "$@"\n' "$PWD/env/site" >env/bin/python
	chmod +x env/bin/*
	bin=$PWD/env/bin
}
install
is $? 0 "the wheel is installed: $how" || diag "$(cat venv.log pip.log)"
is "$("$bin/xpuload" --version)" "$(xpuload --version)" \
	"the installed xpuload has the version of the build"
is "$("$bin/xpumerge" --version)" "$(xpumerge --version)" \
	"the installed xpumerge has the version of the build"
"$bin/xpuload" --no-such-option >log 2>&1
is $? 125 "the installed command has the exit status of xpuload"
is "$("$bin/python" -c 'import xpuload; print(xpuload.__version__)')" 9.8.7 \
	"the package has the wheel's version"
(cd / && "$bin/python" -m xpuload --check) >check.out 2>&1
like "$(cat check.out)" '^ok +package +xpuload 9\.8\.7, /' \
	"--check prints the package's version and path"
like "$(cat check.out)" '^ok +Python +3\.[0-9]+' "--check says that Python's frames are known"
like "$(cat check.out)" '^ok +shim +/.*/_tree/' "--check finds the shim inside the package"
"$bin/python" -m xpuload --nonsense >out 2>log
is "$? $(cat out log)" "2 $(grep '^usage' log)" \
	"an unknown argument: prints the usage, exit status 2"

# Without privileges, shared memory is used instead of BPF.
use_sim
exact="$XPU_BUILD/workload/exact"
"$bin/xpuload" --gpu-only --transport shm -o run.data "$exact" -t 2 -n 400 >/dev/null 2>load.log
is $? 0 "the installed xpuload records" || diag "$(cat load.log)"
"$bin/xpumerge" run.data -f folded -o run.folded 2>merge.log
is "$? $(grep -c kernel_ run.folded)" "0 $(grep -c 'site_.*kernel_' run.folded)" \
	"the installed xpumerge merges"
like "$(cat merge.log)" '^launches 400 matched 400 unmatched 0 lost 0$' "nothing is lost" ||
	diag "$(cat load.log)"

"$bin/python" -c 'import xpuload
r = xpuload.read("run.data")
print(sum(row.instances for row in r.kernels), len(r.nvtx_ranges), r.nvtx_ranges.columns[0])' \
	>read.out 2>read.err
is "$(cat read.out)" "400 0 gpu_percent" "the installed package reads the recording" ||
	diag "$(cat read.err)"

# Each Python on this machine that the package supports. pip refuses an older Python.
mkdir -p unpacked
python3 -m zipfile -e "$wheel" unpacked
sh "$XPU_SRC/test/workload/py_find.sh" every | while read -r version python rest; do
	case $version in 3.8.*) continue ;; esac
	echo "$version $(PYTHONPATH=$PWD/unpacked "$python" -m xpuload --version 2>&1)"
done >pythons
if [ -s pythons ]; then
	is "$(grep -v ' xpuload 9\.8\.7$' pythons)" "" \
		"the package works with $(cut -d' ' -f1 pythons | tr '\n' ' ')"
else
	skip "each CPython 3.9 to 3.13" "none was found"
fi
done_testing
