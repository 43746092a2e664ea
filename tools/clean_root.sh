#!/usr/bin/env bash
# tools/clean_root.sh FOLDER VERB...      (as root)   e.g. tools/clean_root.sh /var/tmp/clean quickstart
#
# Tries set-up commands where nothing is installed: a minimal Debian (debootstrap) in FOLDER/base,
# copied to FOLDER/root for each verb, a fresh clone of the last commit in it, then `make VERB` by chroot, and
# prints how long it took. The package mirror, proxies, certificates and pip settings of this
# machine are used. SUITE=noble with an Ubuntu base system put into FOLDER/base (and an empty file
# FOLDER/base/.complete) tries that one.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=$1
shift
suite=${SUITE:-bookworm}
mirror=${MIRROR:-$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null |
  sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *([a-z]+:[^ ]*debian[^ ]*).*/\3/p' | head -n 1 || true)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
base=$folder/base
root=$folder/root

if [ ! -f "$base/.complete" ]; then
  rm -rf "$base"
  debootstrap --variant=minbase "$suite" "$base" $mirror >"$folder/debootstrap.log" 2>&1 ||
    { tail -n 20 "$folder/debootstrap.log" >&2; exit 1; }
  touch "$base/.complete"
fi

leave() { for m in proc sys dev; do umount -l "$root/$m" 2>/dev/null || true; done; }
trap leave EXIT

for verb in "$@"; do
  leave
  rm -rf "$root"
  cp -a "$base" "$root"
  for m in proc sys dev; do mount --rbind "/$m" "$root/$m" && mount --make-rslave "$root/$m"; done
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  for f in /etc/apt/apt.conf.d/*proxy* /etc/pip.conf; do
    if [ -e "$f" ]; then mkdir -p "$root${f%/*}" && cp "$f" "$root$f"; fi
  done
  settings=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
  bundle=/etc/ssl/certs/ca-certificates.crt
  if [ -f $bundle ]; then
    mkdir -p "$root/usr/local/share/clean_root" && cp $bundle "$root/usr/local/share/clean_root/ca.crt"
    settings+=(PIP_CERT=/usr/local/share/clean_root/ca.crt SSL_CERT_FILE=/usr/local/share/clean_root/ca.crt)
  fi
  for name in http_proxy https_proxy no_proxy PIP_INDEX_URL CI; do
    if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
  done
  git clone -q --no-hardlinks "$source" "$root/home/hone"
  log=$folder/$verb.log
  inside() { chroot "$root" /usr/bin/env -i "${settings[@]}" bash -c "cd /home/hone && $1" </dev/null; }
  # What README.md asks for before the first verb.
  inside "apt-get update -q && apt-get install -q -y --no-install-recommends git make" >"$log" 2>&1
  start=$SECONDS
  status=0
  inside "make $verb" >>"$log" 2>&1 || status=$?
  took=$((SECONDS - start))
  tail -n "${TAIL:-40}" "$log"
  echo "make $verb in a clean $suite: exit status $status, $((took / 60)) min $((took % 60)) s (log: $log)"
  [ $status = 0 ] || exit $status
done
