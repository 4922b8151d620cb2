# Debian packages and how to get them; sourced by the other scripts, does nothing by itself.

build_packages="gcc libc6-dev meson ninja-build pkg-config python3 libjson-c-dev libmnl-dev libseccomp-dev libssl-dev libarchive-dev libncurses-dev libsqlite3-dev libcurl4-openssl-dev libinih-dev zlib1g-dev libzstd-dev libpcap-dev libwslay-dev libnghttp2-dev liburing-dev"
test_packages="libcriterion-dev python3-jsonschema iperf3 iproute2 ethtool tmux scdoc clang-format clang-tidy cppcheck openssh-client openssh-server rsync curl openssl tcpdump strace"

missing_packages() {
    local name
    for name in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
            printf '%s ' "$name"
    done
}

# ensure_packages NAME... is silent when all are there. Otherwise it says what it installs
# and uses apt-get, through sudo when the user is not root. Elsewhere it names the packages.
ensure_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        command -v meson >/dev/null && return 0
        echo "tightlink: this is no Debian system. Install the equivalents of: $*" >&2
        return 1
    fi
    local missing sudo='' log
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
        echo "tightlink: as root, run: apt-get install $missing" >&2
        return 1
    fi
    echo "tightlink: installing ${missing% } with apt-get${sudo:+ (sudo)} ..." >&2
    log=$(mktemp)
    if ! { $sudo apt-get update -qq &&
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends $missing; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        echo "tightlink: apt-get failed; its output is above" >&2
        return 1
    fi
    rm -f "$log"
}

# build_in DIRECTORY MESON-OPTIONS...: configures once, builds; prints only what went wrong.
build_in() {
    local directory=$1 log
    shift
    log=$(mktemp)
    if [ ! -f "$directory/build.ninja" ]; then
        [ ! -t 2 ] || echo "tightlink: building in $directory ..." >&2
        if ! meson setup "$directory" "$@" >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log"
            return 1
        fi
    fi
    if ! ninja -C "$directory" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    grep -E 'warning:' "$log" >&2 || true
    rm -f "$log"
}
