# shellcheck shell=bash
# Sourced by the tests: each part of one says what it is when it begins, and what it took when it ends.

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
