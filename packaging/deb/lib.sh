# shellcheck shell=bash
# Sourced by what makes packages.

# field NAME: of the newest entry of the changelog.
field() {
	dpkg-parsechangelog -l packaging/deb/changelog -S "$1"
}

# pack TREE FOLDER: the package of TREE, whose DEBIAN/control says all but its size; prints its path.
# The same tree is the same package, whoever packs it and when.
pack() {
	local tree=$1 name size
	(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
	# As dpkg-gencontrol counts: how large a folder is depends on the file system.
	size=$(find "$tree" -path "$tree/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1\n' |
		awk '{ size += int(($1 + 1023) / 1024) } END { print size }')
	sed -i "s/^Installed-Size: .*/Installed-Size: $size/" "$tree/DEBIAN/control"
	chmod -R u+rwX,go+rX,go-w "$tree"
	find "$tree" -depth -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
	name=$(awk '/^(Package|Version|Architecture):/ { value[$1] = $2 }
		END { print value["Package:"] "_" value["Version:"] "_" value["Architecture:"] ".deb" }' "$tree/DEBIAN/control")
	dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$tree" "$2/$name" >&2
	echo "$2/$name"
}

# inside ARCHIVE SCRIPT [FILE ...]: runs SCRIPT in a fresh root of ARCHIVE, whose /tmp has the files; the
# root and all that the script started end with it.
inside() {
	local archive=$1 script=$2 root status=0
	shift 2
	root=$(mktemp -d)
	# shellcheck disable=SC2064 # this one
	trap "rm -rf --one-file-system '$root'" EXIT
	tar -xf "$archive" -C "$root"
	(($# == 0)) || cp "$@" "$root/tmp"
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount --pid --fork --kill-child sh -c '
		mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
			exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
				DEBIAN_FRONTEND=noninteractive chroot "$0" bash -euo pipefail -c "$1"' \
		"$root" "$script" </dev/null || status=$?
	rm -rf --one-file-system "$root"
	return "$status"
}

# What is there of files, but for logs, caches, /run, the package manager's own and accounts, which Debian
# never takes away: for the shell in a root.
# shellcheck disable=SC2034 # of who sources this
files='find / -xdev \( -path /tmp -o -path /run -o -path /dev -o -path /proc -o -path /sys -o -path /var/lib/dpkg -o -path /var/log \
	-o -path /var/cache -o -path "/etc/*group*" -o -path /etc/.pwd.lock \) -prune -o -print | sort'
