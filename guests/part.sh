# shellcheck shell=bash
# Sourced by the tests: each part of one says what it is when it begins, and what it took when it ends; and what a test
# has started ends with it.

# shellcheck source=guests/processes.sh
source "${BASH_SOURCE[0]%/*}/processes.sh"

part_name='' part_start=0 part_cpu=0

# The CPU time of all that this shell has waited for, in hundredths of a second, as $cpu.
cpu_time() {
	local stat
	read -r -a stat <"/proc/$$/stat"
	cpu=$((stat[15] + stat[16]))
}

# part NAME: it begins, and the one before it ends.
part() {
	part_end
	cpu_time
	part_name=$1 part_start=$SECONDS part_cpu=$cpu
	echo "== guest: $1"
}

# part_end: the last one ends.
part_end() {
	[[ -n $part_name ]] || return 0
	cpu_time
	echo "== $((SECONDS - part_start)) s, $(((cpu - part_cpu) / 100)) s of CPU time: $part_name"
	part_name=''
}

# end_all: whatever this shell has started, and that in turn, is told to end. For its EXIT trap: neither a failure nor
# a signal leaves a guest running. Bash does not wait for a command when a signal ends it, nor passes the signal on; a
# command in the background does not hear Ctrl-C; and what runs a function there is a shell between.
end_all() {
	# shellcheck disable=SC2046 # one word a process
	kill $(descendants "$$") 2>/dev/null || true
	wait
}
