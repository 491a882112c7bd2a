# shellcheck shell=bash
# Sourced: Debian's packages, for the system, and of another release than the system's, fetched beside it.

# update_lists: the system's lists of packages are of today. Waits for another apt that is at work, a second clone's or
# an upgrade, as apt itself does only for what it installs.
update_lists() {
    local tries=120 said
    until said=$(LC_ALL=C apt-get update -qq 2>&1); do
        if [[ $said != *'Could not get lock'* ]] || ((--tries == 0)); then
            echo "$said" >&2
            return 1
        fi
        sleep 5
    done
    [[ -z $said ]] || echo "$said" >&2
}

# install_packages PACKAGE ...
install_packages() {
    update_lists
    DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"
}

# debian_mirror: whatever mirror this machine has Debian from, which also has the other suites.
debian_mirror() {
    local mirror
    # Of "Debian", not of "Debian Backports".
    mirror=$(apt-get indextargets --format "\$(REPO_URI) \$(LABEL)" 'Created-By: Packages' |
        awk 'NF == 2 && $2 == "Debian" { print $1; exit }')
    echo "${mirror:-http://deb.debian.org/debian}"
}

# own_apt DIR SUITE...: an apt with these suites only (source:SUITE: its sources), whose state is all
# in DIR, ready to fetch: apt-get "${own[@]}" ... Nothing counts as installed in it. What it fetches
# is checked against the keys of Debian's archive.
own_apt() {
    local apt=$1 mirror suite kind
    shift
    mkdir -p "$apt"/{lists/partial,archives/partial,preferences.d}
    : >"$apt/status"

    mirror=$(debian_mirror)
    for suite in "$@"; do
        kind=deb
        [[ $suite != source:* ]] || kind=deb-src
        echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror ${suite#source:} main"
    done >"$apt/sources.list"

    own=(
        -o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=/dev/null"
        -o "Dir::Etc::Preferences=/dev/null" -o "Dir::Etc::PreferencesParts=$apt/preferences.d"
        -o "Dir::State=$apt" -o "Dir::State::Status=$apt/status"
        -o "Dir::Cache=$apt" -o "Acquire::Languages=none"
        # apt drops its privileges to download, and may not be able to write here.
        -o APT::Sandbox::User=root
    )
    apt-get "${own[@]}" update -qq
}
