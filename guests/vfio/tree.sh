# shellcheck shell=bash
# Sourced: how a file finds its way into the guest's root.

# A program goes to /bin, with whatever shared libraries it was linked to.
put_program() {
    local root=$1 program=$2 library
    install -D -m 755 "$program" "$root/bin/$(basename "$program")"
    # ldd fails on a static program, which needs nothing more.
    for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*' || true); do
        [[ -e $root$library ]] || install -D "$library" "$root$library"
    done
}

# Plain cpio: the kernel takes several in a row, and under emulation it copies
# faster than it decompresses.
pack() {
    (cd "$1" && find . -mindepth 1 -print0 | sort -z | cpio --null --quiet -o -H newc -R 0:0)
}
