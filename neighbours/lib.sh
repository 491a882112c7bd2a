# shellcheck shell=bash
# Sourced by what builds and tests the neighbours: failing in a line, and finding libjoulio.

# fail TEXT [STATUS]: end the script with a line under its name; 2 is for what was wrong before anything began.
fail() {
	echo "${0##*/}: $1" >&2
	exit "${2-2}"
}

# find_libjoulio [FOLDER]: set the array libjoulio to what a compiler needs to link libjoulio: the one in FOLDER,
# as target/release of this workspace, or else the installed one that pkg-config knows.
find_libjoulio() {
	local folder=${1-} libdir
	if [[ -n $folder ]]; then
		[[ -f $folder/libjoulio.so ]] || fail "$folder has no libjoulio.so: cargo build --release -p joulio-c"
		libdir=$(realpath "$folder")
		libjoulio=(-I "$(dirname "${BASH_SOURCE[0]}")/../crates/c/include" -L "$libdir" -ljoulio)
	else
		pkg-config --exists joulio ||
			fail "pkg-config does not find joulio: run crates/c/install, and set PKG_CONFIG_PATH where that was not to /usr/local; or give --joulio FOLDER"
		read -ra libjoulio < <(pkg-config --cflags --libs joulio)
		libdir=$(pkg-config --variable=libdir joulio)
	fi
	libjoulio+=("-Wl,-rpath,$libdir")
}
