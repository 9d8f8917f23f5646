#!/bin/sh
# Builds build/klamm_VERSION_ARCH.deb: the program, its man page, a systemd unit and a configuration.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build | head -1)
arch=$(dpkg --print-architecture)
[ -e build-package/build.ninja ] || meson setup build-package -Dtests=false --buildtype=release >/dev/null
ninja -C build-package >/dev/null
root=build-package/deb
rm -rf "$root"
install -D -s -m 755 build-package/klamm "$root/usr/bin/klamm"
install -D -m 644 packaging/klamm.service "$root/lib/systemd/system/klamm.service"
install -D -m 644 packaging/server.properties "$root/etc/klamm/server.properties"
install -D -m 644 docs/man/klamm.1 "$root/usr/share/man/man1/klamm.1"
gzip -9n "$root/usr/share/man/man1/klamm.1"
install -D -m 644 LICENSE "$root/usr/share/doc/klamm/copyright"
mkdir -p "$root/DEBIAN" build-package/debian
printf 'Source: klamm\n\nPackage: klamm\nArchitecture: any\nDescription: klamm\n' >build-package/debian/control
# src/os/digest.c loads libcrypto by name, which dpkg-shlibdeps does not see.
needs=$(cd build-package && dpkg-shlibdeps -O --ignore-missing-info deb/usr/bin/klamm 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
cat >"$root/DEBIAN/control" <<X
Package: klamm
Version: $version
Architecture: $arch
Maintainer: The Klamm authors <klamm@localhost>
Depends: ${needs:-libc6}, libssl3 | libssl3t64, adduser
Section: net
Priority: optional
Description: drop-in Apache Kafka node in one small native program
 Broker and KRaft controller that existing Kafka clients, data folders and
 server.properties work with unchanged.
X
echo /etc/klamm/server.properties >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/postinst" <<'X'
#!/bin/sh
set -e
if [ "$1" = configure ] && ! getent passwd klamm >/dev/null; then
  adduser --system --group --home /var/lib/klamm --no-create-home --quiet klamm
fi
# The unit would make it, but the folder is formatted before the first start.
[ "$1" != configure ] || [ -d /var/lib/klamm ] || install -d -o klamm -g klamm -m 0750 /var/lib/klamm
X
chmod 755 "$root/DEBIAN/postinst"
dpkg-deb --root-owner-group --build "$root" "build/klamm_${version}_$arch.deb" >/dev/null 2>&1 ||
  { mkdir -p build; dpkg-deb --root-owner-group --build "$root" "build/klamm_${version}_$arch.deb"; }
echo "build/klamm_${version}_$arch.deb"
