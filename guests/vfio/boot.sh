# shellcheck shell=bash
# Sourced by the `run` scripts of guests in QEMU: everything about one but its devices. They parse
# their own options, then call prepare, add to $qemu and call boot.

# shellcheck source=guests/guest.sh
source "$(dirname "${BASH_SOURCE[0]}")/../guest.sh"

common_usage() {
    guest_usage
    echo "  --cpu MODEL          of QEMU's, with its features, e.g. Nehalem,+pku ($cpu)"
    echo '  --monitor SOCKET     QEMU'\''s human monitor, e.g. for "device_del nvme0"'
}

monitor='' cpu=Nehalem

# common_option NAME VALUE: false when it is none of these.
common_option() {
    case $1 in
    --cpu) cpu=$2 ;;
    --monitor) monitor=$2 ;;
    *) guest_option "$@" ;;
    esac
}

# The initrd, the log and the part of QEMU's command line that all guests share: $work, $qemu.
prepare() {
    prepare_guest vfio

    # shellcheck disable=SC2054 # the commas are QEMU's
    qemu=(
        -nodefaults -no-user-config -display none -no-reboot
        -cpu "$cpu" -smp "$cpus" -m "$memory"
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
    local tries=3
    watch "$@"
    # A machine of several CPUs may have QEMU read its memory map while that changes, and end by SIGSEGV (139): that
    # says nothing of what runs in it.
    while ((status == 139 && --tries)); do
        echo "run: QEMU ended by SIGSEGV; the guest begins again" >&2
        watch "$@"
    done
    case $status in
    33) conclude passed '' ;;
    35) conclude failed '' ;;
    *) conclude died "QEMU status $status" ;;
    esac
}
