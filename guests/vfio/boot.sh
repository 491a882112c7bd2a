# shellcheck shell=bash
# Sourced by the `run` scripts: everything about a guest but its devices. They parse their own
# options, then call prepare, add to $qemu and call boot.

common_usage() {
    cat <<'USAGE'
  --script FILE        what the guest runs (busybox sh, as root)
  --bin FILE           a program for the guest's /bin (repeatable)
  --file PATH          a file or folder for the guest's /data (repeatable)
  --artefacts DIR      unpack the guest's /artefacts here afterwards
  --log FILE           copy of the serial console
  --timeout SECONDS    kill the guest after this long (120)
  --kernel FILE        what to boot (Debian's 6.1); VFIO is for that one only
  --cpus N             virtual CPUs (2)
  --memory SIZE        (512M)
  --append WORDS       more kernel command line; a word the kernel does not know,
                       NAME=VALUE, is in the script's environment
  --monitor SOCKET     QEMU's human monitor, e.g. for "device_del nvme0"
USAGE
}

exit_usage() {
    echo 'exit: 0 passed, 1 the script failed, 2 usage, 3 the guest died, 124 timeout'
}

die() {
    echo "run: $1" >&2
    exit 2
}

cache=$(dirname "${BASH_SOURCE[0]}")/../.cache
# shellcheck source=guests/vfio/tree.sh
source "$(dirname "${BASH_SOURCE[0]}")/tree.sh"

script='' artefacts='' log='' monitor='' append='' kernel=''
bins=() files=()
timeout=120 cpus=2 memory=512M

# common_option NAME VALUE: false when it is none of these.
common_option() {
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
    --monitor) monitor=$2 ;;
    *) return 1 ;;
    esac
}

# The initrd, the log and the part of QEMU's command line that all guests share: $work, $qemu.
prepare() {
    [[ -f $script ]] || die "no guest script '$script' (see --help)"
    [[ -s $cache/kernel ]] || die "run guests/install-packages first"
    kernel=${kernel:-$cache/parts/boot/vmlinuz-$(cat "$cache/kernel")}
    [[ -s $kernel ]] || die "no kernel '$kernel'"

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT

    # The cached base, then this run's files on top of it.
    mkdir -p "$work/root/data"
    install -m 755 "$script" "$work/root/test"
    local bin file base
    for bin in "${bins[@]}"; do put_program "$work/root" "$bin"; done
    for file in "${files[@]}"; do cp -r "$file" "$work/root/data/"; done
    base=$("$(dirname "${BASH_SOURCE[0]}")/base")
    { cat "$base"; pack "$work/root"; } >"$work/initrd"

    if [[ -z $log ]]; then
        mkdir -p "$cache/logs"
        log=$cache/logs/$(basename "$script").log
    fi

    # shellcheck disable=SC2054 # the commas are QEMU's
    qemu=(
        -nodefaults -no-user-config -display none -no-reboot
        -cpu Nehalem -smp "$cpus" -m "$memory"
        -chardev "stdio,id=console,signal=off,logfile=$log" -serial chardev:console
        -chardev "file,id=artefacts,path=$work/artefacts.tar" -serial chardev:artefacts
        -device isa-debug-exit,iobase=0xf4,iosize=0x04
        -kernel "$kernel" -initrd "$work/initrd"
        # tsc=reliable: an emulated TSC may fail the kernel's checks, and every look
        # at the clock would then become a slow HPET read.
        -append "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check intel_iommu=on mitigations=off $append"
    )
    if [[ -n $monitor ]]; then
        qemu+=(-chardev "socket,id=monitor,path=$monitor,server=on,wait=off" -mon chardev=monitor)
    else
        qemu+=(-monitor none)
    fi
}

# boot COMMAND ...: run it until the guest gave its verdict, and end with that.
boot() {
    # In the background, so that a signal to this script reaches QEMU at once.
    : >"$log"
    timeout --foreground --kill-after=5 "$timeout" "$@" </dev/null &
    guest=$!
    trap 'kill "$guest" 2>/dev/null; wait "$guest"; exit 130' INT TERM
    local status=0 start=$SECONDS
    wait "$guest" || status=$?

    # Only a guest that gave a verdict has sent a whole archive before it.
    if [[ -n $artefacts && ($status == 33 || $status == 35) ]]; then
        mkdir -p "$artefacts"
        tar -xf "$work/artefacts.tar" --no-same-owner -C "$artefacts" || status=artefacts
    fi

    # QEMU's status alone would do for a pass, but a guest that died of something
    # else must not be taken for one: ask for the words as well.
    case $status in
    33) grep -aqx 'guest: test passed' "$log" && exit 0 ;;
    35) exit 1 ;;
    124 | 137) echo "run: killed after $((SECONDS - start)) s" >&2; exit 124 ;;
    esac
    echo "run: the guest ended without a verdict (QEMU status $status); see $log" >&2
    exit 3
}
