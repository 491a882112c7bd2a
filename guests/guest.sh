# shellcheck shell=bash
# Sourced by the `run` scripts: everything about a guest but the machine it is in. They parse their
# own options, then call prepare_guest, put the machine together, call watch, and end with conclude.

guest_usage() {
    cat <<USAGE
  --script FILE        what the guest runs (busybox sh, as root)
  --bin FILE           a program for the guest's /bin (repeatable)
  --file PATH          a file or folder for the guest's /data (repeatable)
  --artefacts DIR      unpack the guest's /artefacts here afterwards
  --log FILE           copy of the serial console
  --timeout SECONDS    kill the guest after this long, on a machine with CPUs free ($timeout)
  --kernel FILE        what to boot (Debian's 6.1); VFIO is for that one only
  --cpus N             virtual CPUs ($cpus)
  --memory SIZE        ($memory)
  --input FIFO         what the guest reads from its console
  --append WORDS       more kernel command line; a word the kernel does not know,
                       NAME=VALUE, is in the script's environment
USAGE
}

exit_usage() {
    echo 'exit: 0 passed, 1 the script failed, 2 usage, 3 the guest died, 124 timeout'
}

die() {
    echo "run: $1" >&2
    exit 2
}

guests=$(dirname "${BASH_SOURCE[0]}")
cache=$guests/.cache
# shellcheck source=guests/vfio/tree.sh
source "$guests/vfio/tree.sh"

script='' artefacts='' log='' append='' kernel='' input=/dev/null
bins=() files=()
timeout=120 cpus=2 memory=512M

# guest_option NAME VALUE: false when it is none of these.
guest_option() {
    case $1 in
    --script) script=$2 ;;
    --bin) bins+=("$2") ;;
    --file) files+=("$2") ;;
    --artefacts) artefacts=$2 ;;
    --log) log=$2 ;;
    --timeout) timeout=$2 ;;
    --kernel) kernel=$2 ;;
    --cpus) cpus=$2 ;;
    --memory) memory=$2 ;;
    --append) append=$2 ;;
    --input) input=$2 ;;
    *) return 1 ;;
    esac
}

# prepare_guest BASE: what `vfio/base BASE` gives, and this run's files on top of it, as
# $work/initrd; $kernel and $log.
prepare_guest() {
    [[ -f $script ]] || die "no guest script '$script' (see --help)"
    [[ -s $cache/kernel ]] || die "run guests/install-packages first"
    kernel=${kernel:-$cache/parts/boot/vmlinuz-$(cat "$cache/kernel")}
    [[ -s $kernel ]] || die "no kernel '$kernel'"
    # Else nobody would end it.
    [[ $timeout =~ ^[1-9][0-9]*$ ]] || die "--timeout takes whole seconds, not '$timeout'"
    local bin file base
    for bin in "${bins[@]}"; do [[ -f $bin ]] || die "no program '$bin' for --bin"; done
    for file in "${files[@]}"; do [[ -e $file ]] || die "nothing is at '$file' for --file"; done

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT

    mkdir -p "$work/root/data"
    install -m 755 "$script" "$work/root/test"
    for bin in "${bins[@]}"; do put_program "$work/root" "$bin"; done
    for file in "${files[@]}"; do cp -r "$file" "$work/root/data/"; done
    base=$("$guests/vfio/base" "$1") || die "there is no initrd"
    { cat "$base"; pack "$work/root"; } >"$work/initrd"

    if [[ -z $log ]]; then
        mkdir -p "$cache/logs"
        log=$cache/logs/$(basename "$(dirname "$script")")-$(basename "$script").log
    fi
}

# end_late PROCESS: kills it when its time is up. Where more threads want to run than there are CPUs, its seconds are
# longer by as much: others are not its fault.
end_late() {
    local cpus running left=$((timeout * 1000))
    cpus=$(nproc)
    while ((left > 0)); do
        sleep 1
        read -r _ _ _ running _ </proc/loadavg
        running=${running%/*}
        left=$((left - 1000 * cpus / (running > cpus ? running : cpus)))
    done
    : >"$work/late"
    kill "$1"
    sleep 5
    kill -KILL "$1"
}

# watch COMMAND ...: run the machine until it ends or its time is up: $status.
watch() {
    # In the background, so that a signal to this script reaches the machine at once.
    { : >"$log"; } || die "the log '$log' cannot be written"
    # Also for writing: nobody has to be at the other end of a pipe.
    "$@" <>"$input" &
    guest=$!
    end_late "$guest" >/dev/null 2>&1 &
    local clock=$! start=$SECONDS
    trap 'kill "$guest" "$clock" 2>/dev/null; wait "$guest"; exit 130' INT TERM HUP
    status=0
    wait "$guest" || status=$?
    # From here on its number may be another's.
    trap - INT TERM HUP
    kill "$clock" 2>/dev/null || true
    if [[ -e $work/late ]]; then
        echo "run: killed after $((SECONDS - start)) s" >&2
        exit 124
    fi
}

# conclude passed|failed|died WHY: end with what the machine's status was read as.
conclude() {
    local verdict=$1 why=$2
    # Only a guest that gave a verdict has sent a whole archive before it.
    if [[ -n $artefacts && $verdict != died ]]; then
        mkdir -p "$artefacts" || die "there can be no folder '$artefacts'"
        tar -xf "$work/artefacts.tar" --no-same-owner -C "$artefacts" ||
            verdict=died why="its artefacts cannot be unpacked into $artefacts"
    fi

    # A status alone would do for a pass, but a guest that died of something else must not be taken
    # for one: ask for the words as well.
    case $verdict in
    passed) grep -aqx 'guest: test passed' "$log" && exit 0 ;;
    failed) exit 1 ;;
    esac
    echo "run: the guest ended without a verdict (${why:-its log has not the words}); see $log" >&2
    exit 3
}
