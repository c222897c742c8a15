#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# build.sh VERSION STAGE OUT: writes a Debian package into the directory OUT. The package has the
# files that `make install DESTDIR=STAGE prefix=/usr` installed. DEB_REVISION is the package's
# revision (1). DEBFULLNAME and DEBEMAIL are the maintainer's name and address: Debian requires an
# address that receives mail, and the default address receives none.
set -e
version=$1-${DEB_REVISION:-1}
stage=$(readlink -f "$2") out=$3
here=$(dirname "$0")
root=$here/../..
arch=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-xpuload maintainers} <${DEBEMAIL:-xpuload@users.noreply.github.com}>"
[ -n "${DEBEMAIL:-}" ] ||
	echo "deb: DEBEMAIL is missing: the maintainer's address takes no mail; set it to publish" \
		"the package" >&2
doc=$stage/usr/share/doc/xpuload
tmp=$(mktemp -d "${TMPDIR:-/tmp}/xpudeb.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# A Debian package has these files in other places, or in another form.
rm -rf "$doc/LICENSE" "$doc/GPL-3.0-or-later.txt" "$doc/GPL-2.0-only.txt" "$doc/MIT.txt" \
	"$doc/Apache-2.0.txt" "$doc/CHANGELOG.md"
install -m 755 "$root/scripts/set-caps.sh" "$stage/usr/lib/xpuload/set-caps.sh"
install -m 644 "$here/copyright" "$here/README.Debian" "$doc/"
gzip -9nc "$root/CHANGELOG.md" >"$doc/changelog.gz"
# The package has the date of its sources, so two builds of the same sources are equal.
date=$(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$root/CHANGELOG.md")}")
printf 'xpuload (%s) unstable; urgency=medium\n\n  * %s\n\n -- %s  %s\n' "$version" \
	"What has changed is in changelog.gz." "$maintainer" "$date" |
	gzip -9n >"$doc/changelog.Debian.gz"
find "$stage/usr/share/man" -name '*.1' -exec gzip -9n {} +
find "$stage/usr/bin" "$stage/usr/lib/xpuload" -type f | while read -r file; do
	if head -c 4 "$file" | grep -q ELF; then
		strip --remove-section=.comment --remove-section=.note "$file"
	fi
done

# The packages of the libraries that the programs need.
mkdir -p "$tmp/debian"
printf 'Source: xpuload\n\nPackage: xpuload\nArchitecture: any\n' >"$tmp/debian/control"
# shellcheck disable=SC2046 # one word or none
needs=$(cd "$tmp" && dpkg-shlibdeps -O "$stage/usr/bin/xpuload" "$stage/usr/bin/xpumerge" \
	$([ ! -e "$stage/usr/lib/xpuload/libxpushim.so" ] ||
		echo "$stage/usr/lib/xpuload/libxpushim.so") | sed -n 's/^shlibs:Depends=//p')
[ -n "$needs" ] || { echo "deb: dpkg-shlibdeps has found no libraries" >&2; exit 1; }

mkdir -p "$stage/DEBIAN"
install -m 755 "$here/postinst" "$stage/DEBIAN/postinst"
(cd "$stage" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
cat >"$stage/DEBIAN/control" <<END
Package: xpuload
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$stage" | cut -f1)
Depends: $needs
Recommends: libcap2-bin, libcurl4
Section: devel
Priority: optional
Description: which call path launched this GPU work, and how long it ran
 xpuload records, for every kernel launch, copy and set of a CUDA program, the
 whole call path on the CPU that made it, native and Python, and the time that
 the device worked for it; the two are joined by their id, never by time. It
 also samples where threads spend their CPU time and where they are blocked.
 .
 xpumerge makes of a recording a summary, flame graphs, timelines and profiles,
 in the formats of other tools.
END
chmod -R u+rwX,go+rX,go-w "$stage"
mkdir -p "$out"
file=$out/xpuload_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$stage" "$file" >/dev/null
echo "$file"
