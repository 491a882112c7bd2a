//! Three examples for each subcommand of a subcommand.

use super::Lines;

/// Example lines by subcommand and nested subcommand.
pub(super) const NESTED: [(&str, &str, Lines); 14] = [
    (
        "lab",
        "list",
        [
            ("joulio lab list", "the experiments that come with joulio"),
            (
                "joulio lab list --papers RESULTS",
                "each table and figure of the papers, and its command",
            ),
            ("joulio lab run --help", "how one is run"),
        ],
    ),
    (
        "lab",
        "plan",
        [
            (
                "joulio lab plan hotstorage22 --emulated",
                "what would run here, and for how long",
            ),
            (
                "joulio lab plan hotstorage20 --quick --twin",
                "its short form, in virtual time",
            ),
            (
                "joulio lab plan mine.toml --device /dev/nvme0n1",
                "an experiment of one's own, on a disk",
            ),
        ],
    ),
    (
        "lab",
        "run",
        [
            (
                "joulio lab run hotstorage25 --twin",
                "a paper, in virtual time",
            ),
            (
                "joulio lab run first-hour --device /dev/nvme0n1",
                "what a new drive and its server do, read-only",
            ),
            (
                "joulio lab run hotstorage22 --twin --shard 3/16 --results part-3",
                "a sixteenth of it, to be merged",
            ),
        ],
    ),
    (
        "lab",
        "report",
        [
            ("joulio lab report RESULTS", "its page, beside the results"),
            (
                "joulio lab report part-1 part-2 -o REPORT",
                "of two shards, into a folder",
            ),
            (
                "joulio lab report RESULTS --experiment hotstorage25",
                "as another experiment shows them",
            ),
        ],
    ),
    (
        "lab",
        "merge",
        [
            ("joulio lab merge part-1 part-2 --results ALL", "two shards"),
            (
                "joulio lab merge part-* --results ALL",
                "every shard that is there",
            ),
            (
                "joulio lab merge part-* --results ALL --force",
                "in place of an earlier merge",
            ),
        ],
    ),
    (
        "lab",
        "compare",
        [
            (
                "joulio lab compare BEFORE AFTER",
                "the figures that differ, corrected for many comparisons",
            ),
            ("joulio lab compare BEFORE AFTER --all", "the others too"),
            (
                "joulio lab compare MEASURED TWIN --model",
                "what a profile says beside what was measured",
            ),
        ],
    ),
    (
        "twin",
        "check",
        [
            (
                "joulio twin check",
                "the twin beside every published number",
            ),
            ("joulio twin check HS25", "beside those of one paper"),
            ("joulio twin check --output-format json", "for programs"),
        ],
    ),
    (
        "twin",
        "fit",
        [
            (
                "joulio twin fit",
                "what each fitted figure would be, found again",
            ),
            (
                "joulio twin fit --hold-out",
                "how well it predicts numbers that were withheld",
            ),
            ("joulio twin fit HS22", "from the numbers of one paper"),
        ],
    ),
    (
        "twin",
        "grid",
        [
            (
                "joulio twin grid --sample",
                "700 cells: which policy is best in each",
            ),
            (
                "joulio twin grid --sample --compare adaptive --replicates 3",
                "adaptive beside each of the others, three seeds",
            ),
            (
                "joulio twin grid --state grid.jsonl --svg grid.svg",
                "all cells, with a map; started again, it continues after a stop",
            ),
        ],
    ),
    (
        "profiles",
        "fit",
        [
            (
                "joulio profiles fit rates.csv",
                "a profile of a device's published rates",
            ),
            (
                "joulio profiles fit rates.csv --write-profile mine.toml",
                "into a file",
            ),
            (
                "joulio profiles fit rates.csv --base micron-9550-max",
                "the rest as in that drive",
            ),
        ],
    ),
    (
        "profiles",
        "measure",
        [
            (
                "joulio profiles measure --device /dev/nvme0n1 --write-profile mine.toml",
                "a disk that is in use by nobody else",
            ),
            (
                "joulio profiles measure --device pcie:0000:01:00.0 --write-profile mine.toml",
                "a drive that joulio drives",
            ),
            (
                "joulio profiles measure --device emulated:optane-900p --write-profile try.toml",
                "to try it",
            ),
        ],
    ),
    (
        "power",
        "swap",
        [
            (
                "joulio power swap --devices a,b,c --time 60s",
                "guides a person through swapping three drives",
            ),
            ("joulio power swap --resume", "goes on with it"),
            (
                "joulio power swap --devices a,b --time 60s --marker",
                "with a marker for a plug logger's clock",
            ),
        ],
    ),
    (
        "power",
        "marker",
        [
            (
                "joulio power marker",
                "three bursts of load that a logger will show",
            ),
            ("joulio power marker --repeat 5", "five of them"),
            (
                "joulio power marker --file marker.json",
                "and when they were, in a file",
            ),
        ],
    ),
    (
        "power",
        "import",
        [
            ("joulio power import plug.csv", "what a logger has recorded"),
            (
                "joulio power import plug.csv --windows result.json",
                "the joules of each run of a bench",
            ),
            (
                "joulio power import plug.csv --date-order dmy --decimal comma",
                "as much of Europe writes",
            ),
        ],
    ),
];
