# shellcheck shell=bash
# What the scripts in ci/, ./check and ./demo share. Sourced, never run.
# shellcheck disable=SC2034

# Where everything that outlives a checkout is kept. World-readable for root, because the
# servers that the tests start belong to another user.
if [ "$(id -u)" = 0 ]; then
    cache=${CKPTFLUSH_CACHE:-/var/cache/ckptflush}
else
    cache=${CKPTFLUSH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ckptflush}
fi
umask 022

started=$SECONDS
say() { printf '%s [%4ds] %s\n' "$(date +%H:%M:%S)" $((SECONDS - started)) "$*" >&2; }
die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# Runs COMMAND with the cargo target directory NAME of the cache, which all checkouts of this
# machine share, and alone with it. Cargo goes by time stamps: it would take a file that is older
# than another checkout's build for unchanged. So our own packages are built anew when the last
# build was of other sources.
with_target() ( # NAME COMMAND...
    target=$cache/cargo/$1 packages=(-p ckptflush)
    mkdir -p "$target"
    exec 7>"$target.lock"
    flock 7
    sources=$(find Cargo.toml Cargo.lock build.rs src pgshim crates -type f -exec cksum {} + |
        LC_ALL=C sort | cksum)
    if [ "$(cat "$target/.ckptflush-sources" 2>/dev/null)" != "$sources" ]; then
        for crate in crates/*/; do
            packages+=(-p "$(basename "$crate")")
        done
        cargo clean --quiet --target-dir "$target" "${packages[@]}"
        cargo clean --quiet --target-dir "$target" "${packages[@]}" --release
        cargo clean --quiet --target-dir "$target" "${packages[@]}" --profile viewer
        echo "$sources" >"$target/.ckptflush-sources"
    fi
    export CARGO_TARGET_DIR=$target
    "${@:2}" 7>&-
)

# PostgreSQL refuses to run as root. Sets $user: for root the unprivileged account ckptflush,
# which is made when missing; for anybody else that very user.
server_user() {
    user=$(id -un)
    [ "$(id -u)" = 0 ] || return 0
    user=ckptflush
    if ! id "$user" >/dev/null 2>&1; then
        say "creating the system account \"$user\" for the test servers"
        useradd --system --user-group --no-create-home --home-dir /nonexistent \
            --shell /usr/sbin/nologin "$user"
    fi
}

# Replaces this (sub)shell by COMMAND, run as $user in DIR with a clean environment. Temporary
# files go to DIR as well, so that nothing is left when it is removed.
exec_as_user() { # DIR COMMAND...
    local dir=$1 become=() path=/usr/local/bin:/usr/bin:/bin
    shift
    if [ "$(id -u)" = 0 ]; then
        become=(setpriv --reuid "$user" --regid "$user" --clear-groups)
    else
        path=$PATH
    fi
    cd "$dir" || exit 1
    exec "${become[@]}" env -i HOME="$dir" TMPDIR="$dir" PATH="$path" \
        USER="$user" LOGNAME="$user" LANG=C.UTF-8 "$@"
}
as_user() { (exec_as_user "$@"); }

# The processes that have their working directory in DIR, as all of a server have: one in each line.
processes_in() { # DIR
    find /proc/[0-9]*/cwd -maxdepth 0 \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null | cut -d/ -f3
}

# Ends the processes of processes_in: SIGQUIT (a server's immediate shutdown), and after ten
# seconds SIGKILL. By pid only, and only what runs in DIR, which is ours.
end_processes_in() { # DIR
    local pids signal deadline
    for signal in QUIT KILL; do
        mapfile -t pids < <(processes_in "$1")
        [ ${#pids[@]} = 0 ] || kill "-$signal" "${pids[@]}" 2>/dev/null || true
        deadline=$((SECONDS + 10))
        until [ -z "$(processes_in "$1")" ]; do
            [ "$SECONDS" -lt "$deadline" ] || continue 2
            sleep 0.1
        done
        return 0
    done
    return 1
}

# The address of the Debian mirror that this machine uses, from its own configuration.
debian_mirror() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(SITE) $(RELEASE) $(ORIGIN) $(CREATED_BY)' |
        awk '$2 == "bookworm" && $4 == "Packages" { print $1; exit }'
}
