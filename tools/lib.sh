# Shell functions that the tools share. Sourced by bash scripts, not run.
# shellcheck shell=bash

# What each purpose needs: "package probe", where the probe tells whether it is there already, wherever it came from.
#   command NAME, module NAME (pkg-config), header NAME, python NAME (of /usr/bin/python3), file PATTERN
lib_packages() {
    case "$1" in
    build)
        cat <<'TABLE'
gcc command gcc
libc6-dev header stdio.h
cmake command cmake
ninja-build command ninja
pkg-config command pkg-config
libgrpc-dev module grpc
libprotobuf-c-dev module libprotobuf-c
libyajl-dev module yajl
libyaml-dev module yaml-0.1
libsqlite3-dev module sqlite3
libcurl4-openssl-dev module libcurl
libev-dev header ev.h
TABLE
        ;;
    unit)
        cat <<'TABLE'
libcriterion-dev module criterion
python3 command python3
python3-h2 python h2
openssl command openssl
TABLE
        ;;
    test)
        lib_packages unit
        cat <<'TABLE'
python3-venv python ensurepip
git command git
clang-14 command clang-14
libclang-rt-14-dev file /usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
clang-format-14 command clang-format-14
clang-tidy-14 command clang-tidy-14
protobuf-compiler command protoc
libprotobuf-dev file /usr/include/google/protobuf/struct.proto
protobuf-c-compiler command protoc-c
zsh command zsh
fish command fish
TABLE
        ;;
    pytorch)
        cat <<'TABLE'
python3-torch python torch
TABLE
        ;;
    example)
        lib_packages pytorch
        cat <<'TABLE'
openmpi-bin command mpirun
libopenmpi-dev command mpicc
TABLE
        ;;
    cluster)
        lib_packages pytorch
        cat <<'TABLE'
containerd command containerd
runc command runc
containernetworking-plugins file /usr/lib/cni/bridge
iproute2 command ip
nftables command nft
conntrack command conntrack
openssl command openssl
busybox-static file /usr/share/doc/busybox-static
TABLE
        ;;
    *)
        echo "tools/lib.sh: nothing is known of the purpose $1" >&2
        return 2
        ;;
    esac
}

lib_say() {
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        printf '\033[1m== %s\033[0m\n' "$*"
    else
        printf '== %s\n' "$*"
    fi
}

lib_die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

lib_probe() { # kind what
    case "$1" in
    command) command -v "$2" >/dev/null ;;
    module) command -v pkg-config >/dev/null && pkg-config --exists "$2" ;;
    header) command -v gcc >/dev/null && printf '#include <%s>\n' "$2" | gcc -E -x c - >/dev/null 2>&1 ;;
    # Only looked for, not imported: importing torch takes seconds.
    python) /usr/bin/python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('$2') is None)" 2>/dev/null ;;
    file) compgen -G "$2" >/dev/null ;;
    esac
}

lib_missing() { # purpose... -> package names, a line each
    local purpose package kind what
    for purpose in "$@"; do
        lib_packages "$purpose" | while read -r package kind what; do
            lib_probe "$kind" "$what" || echo "$package"
        done
    done | sort -u
}

lib_as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# Installs what is missing for the purposes, with Debian's apt-get; says first what and how big.
lib_need() {
    local missing
    mapfile -t missing < <(lib_missing "$@")
    if [ "${#missing[@]}" -eq 0 ]; then
        return 0
    fi
    if ! command -v apt-get >/dev/null; then
        lib_die "missing: ${missing[*]} (the names of Debian's packages). There is no apt-get here: install what they hold with this system's own package manager, then start again."
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        lib_die "missing: ${missing[*]}. As root: apt-get install --no-install-recommends ${missing[*]}"
    fi
    lib_say "installing ${missing[*]}"
    local quiet=-q
    if [ -t 1 ]; then
        quiet=-oDpkg::Progress-Fancy=1
    fi
    lib_as_root apt-get update -qq || lib_die "apt-get update failed: is there a network, and are the package sources right?"
    # apt's own sentences: "Need to get 151 MB of archives", "After this operation, 902 MB ... will be used".
    LC_ALL=C apt-get install --no-install-recommends --assume-no "${missing[@]}" 2>/dev/null | grep -E '^(Need to get|After this)' || true
    lib_as_root apt-get install -y "$quiet" -o Acquire::Retries=3 --no-install-recommends "${missing[@]}" ||
        lib_die "apt-get could not install ${missing[*]}; what it said is above"
    mapfile -t missing < <(lib_missing "$@")
    if [ "${#missing[@]}" -ne 0 ]; then
        lib_die "installed, but still not found: ${missing[*]}"
    fi
}
