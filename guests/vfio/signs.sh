# shellcheck shell=sh
# Sourced by scripts in the guest, where it is /signs.sh: what they wait for is a sign, never a time. A wait for a sign
# that does not come ends the script, and says so.

# fail WORDS: a script that has more to say puts its own in this place.
fail() {
	echo "guest: $*"
	exit 1
}

# until_true COMMAND ...: for three minutes, and for longer on a machine that is busy.
until_true() {
	tries=1800
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "waited too long for: $*"
		sleep 0.1
	done
}

# gone ADDRESS: whether that PCI function is not there any more.
gone() {
	[ ! -e "/sys/bus/pci/devices/$1" ]
}

# starts COMMAND ...: a run in the background, as $run; what it says on standard error is in /tmp/status. That is empty
# at first, so that nobody takes the words of the run before for this one's.
starts() {
	: >/tmp/status
	"$@" 2>/tmp/status &
	run=$!
}

# I/Os that the run has done, by the lines of its --status-interval; nothing before the first line.
done_ios() {
	sed -n 's|.* \([0-9]*\) I/Os: .*|\1|p' /tmp/status | tail -n 1
}

# has_done IOS: whether the run has done so many. It must not be over before: one that is over has no program.
has_done() {
	so_far=$(done_ios)
	[ "${so_far:-0}" -lt "$1" ] || return 0
	[ -e "/proc/$run/exe" ] || {
		cat /tmp/status
		fail "the run was over after ${so_far:-0} I/Os of $1"
	}
	return 1
}

# ended_with STATUS: waits for the end of the run, which has to have that status.
ended_with() {
	status=0
	wait "$run" || status=$?
	[ $status = "$1" ] || {
		cat /tmp/status
		fail "the run ended with status $status, not $1"
	}
}

# interrupt: ends the run by the signal of Ctrl-C, and holds it to the status of that.
interrupt() {
	kill -INT "$run"
	ended_with 130
}

# unplugged NAME: has that controller unplugged under the run, which ends and gives that as its reason; its words apart
# from the lines of --status-interval are in /tmp/unplugged.
unplugged() {
	echo "guest: unplug $1"
	ended_with 1
	grep -v ' I/Os: ' /tmp/status >/tmp/unplugged
	cat /tmp/unplugged
	grep -q 'being unplugged\|does not answer' /tmp/unplugged
}
