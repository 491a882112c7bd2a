# shellcheck shell=bash
# Sourced by the tests, and by the parts of them that start what has to end with them.

# descendants PROCESS: what it has started, in any of its threads, and what these have.
descendants() {
	local child children
	children=$(cat /proc/"$1"/task/*/children 2>/dev/null) || true
	for child in $children; do
		echo "$child"
		descendants "$child"
	done
}
