#!/usr/bin/env bash
# Collects what an image needs to run hone: the program, its modules, the libraries of both, certificates.
#
#   tools/image_root.sh build/hone build/rootfs
set -euo pipefail
program=$(readlink -f "${1:?the program}") root=${2:?the folder to write}
rm -rf "$root"
mkdir -p "$root"/usr/{bin,lib/hone} "$root"/{etc/ssl/certs,tmp,work,lib,lib64,proc,sys,dev,root}
chmod 1777 "$root/tmp"
cp "$program" "$root/usr/bin/hone"
# Modules are loaded when they are needed; hone looks for them beside itself and in ../lib/hone.
for module in "$(dirname "$program")"/*.so "$(dirname "$program")"/../lib/hone/*.so; do
  if [ -f "$module" ]; then cp "$module" "$root/usr/lib/hone/"; fi
done
libraries() { ldd "$@" 2>/dev/null | sed -n 's/^[[:space:]]*\(.* => \)\{0,1\}\(\/[^ ]*\) (.*/\2/p' | sort -u; }
# /usr/lib is searched by ld.so without being named.
for file in $(libraries "$root/usr/bin/hone" "$root"/usr/lib/hone/*.so); do
  case $file in
    */ld-linux*) mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file" ;;
    *) cp -L "$file" "$root/usr/lib/" ;;
  esac
done
# The name service and the resolver are loaded by the C library itself.
for name in libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
  file=$(ldconfig -p | sed -n "s/.*$name .*=> //p" | head -n 1)
  if [ -n "$file" ]; then cp -L "$file" "$root/usr/lib/"; fi
done
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"; fi
echo 'root:x:0:0:root:/root:/usr/bin/hone' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
du -sh "$root" | cut -f 1
