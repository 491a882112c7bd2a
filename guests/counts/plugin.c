/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin of QEMU's TCG that counts instructions, loads and stores, by function of the guest's kernel and for
 * all of its user space, from one mark to the next (mark.c). The kernel is to be where its symbols say
 * (nokaslr).
 *
 *	-plugin plugin.so,[functions=FILE,]out=FILE[,accesses=off]
 *
 * functions: a line a function, in the order of their addresses: its first address in hexadecimal, and its
 * name. out: at each mark a line "mark NUMBER", then for every function that has a count a line of its name,
 * instructions, loads and stores, all since the guest started; user space is "user", and the kernel's code
 * below the first function, and that of modules, "unknown". An access that loads and stores is one of each.
 * accesses=off: no loads and stores. While they are counted QEMU shows UMONITOR no memory, and UMWAIT does not
 * wait.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glib.h>
#include <qemu-plugin.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* nopl MAGIC+NUMBER(%rax,%rax), which does nothing on any CPU. */
static const unsigned char magic[] = { 0x0f, 0x1f, 0x84, 0x00 };
#define MAGIC 0x4a4f5500u /* its lowest byte is the number of the mark */

struct function {
	uint64_t at;
	char *name;
};

struct counts {
	uint64_t instructions, loads, stores;
};

enum { USER, UNKNOWN, FIRST };

static GArray *functions;
static struct qemu_plugin_scoreboard *counts;
static FILE *out;
static bool accesses = true;

/* The number of the function that has the address: the last that begins there or before. */
static unsigned int function_of(uint64_t address)
{
	unsigned int low = FIRST, high = functions->len;

	if (address < UINT64_C(1) << 63)
		return USER;
	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (g_array_index(functions, struct function, middle).at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == FIRST ? UNKNOWN : low - 1;
}

static qemu_plugin_u64 entry(unsigned int function, size_t member)
{
	qemu_plugin_u64 entry = { counts, function * sizeof(struct counts) + member };

	return entry;
}

static void marked(unsigned int cpu, void *number)
{
	fprintf(out, "mark %u\n", GPOINTER_TO_UINT(number));
	for (unsigned int at = 0; at < functions->len; at++) {
		uint64_t instructions = qemu_plugin_u64_sum(entry(at, offsetof(struct counts, instructions)));

		if (instructions)
			fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				g_array_index(functions, struct function, at).name, instructions,
				qemu_plugin_u64_sum(entry(at, offsetof(struct counts, loads))),
				qemu_plugin_u64_sum(entry(at, offsetof(struct counts, stores))));
	}
	fflush(out);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	for (size_t at = 0; at < qemu_plugin_tb_n_insns(block); at++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, at);
		unsigned int function = function_of(qemu_plugin_insn_vaddr(instruction));
		unsigned char code[8];
		uint32_t number;

		if (qemu_plugin_insn_size(instruction) == sizeof(code)) {
			qemu_plugin_insn_data(instruction, code, sizeof(code));
			memcpy(&number, code + sizeof(magic), sizeof(number));
			if (!memcmp(code, magic, sizeof(magic)) && (number & ~0xffu) == MAGIC)
				qemu_plugin_register_vcpu_insn_exec_cb(instruction, marked, QEMU_PLUGIN_CB_NO_REGS,
								       GUINT_TO_POINTER(number & 0xff));
		}
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			instruction, QEMU_PLUGIN_INLINE_ADD_U64,
			entry(function, offsetof(struct counts, instructions)), 1);
		if (!accesses)
			continue;
		qemu_plugin_register_vcpu_mem_inline_per_vcpu(
			instruction, QEMU_PLUGIN_MEM_R, QEMU_PLUGIN_INLINE_ADD_U64,
			entry(function, offsetof(struct counts, loads)), 1);
		qemu_plugin_register_vcpu_mem_inline_per_vcpu(
			instruction, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_INLINE_ADD_U64,
			entry(function, offsetof(struct counts, stores)), 1);
	}
}

static void add(uint64_t at, const char *name)
{
	struct function function = { at, g_strdup(name) };

	g_array_append_val(functions, function);
}

static int read_functions(const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t at, before = 0;
	char name[512];

	if (!file)
		return -1;
	while (fscanf(file, "%" SCNx64 " %511s", &at, name) == 2) {
		if (at < before) {
			fprintf(stderr, "counts: %s is not in the order of addresses at %s\n", path, name);
			fclose(file);
			return -1;
		}
		add(at, name);
		before = at;
	}
	fclose(file);
	return 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	functions = g_array_new(FALSE, FALSE, sizeof(struct function));
	add(0, "user");
	add(0, "unknown");
	for (int at = 0; at < argc; at++) {
		char *value = strchr(argv[at], '=');

		if (value && g_str_has_prefix(argv[at], "functions=")) {
			if (read_functions(value + 1)) {
				fprintf(stderr, "counts: cannot read the functions of %s\n", value + 1);
				return -1;
			}
		} else if (value && g_str_has_prefix(argv[at], "out=")) {
			out = fopen(value + 1, "w");
		} else if (!strcmp(argv[at], "accesses=off")) {
			accesses = false;
		} else {
			fprintf(stderr, "counts: no argument %s\n", argv[at]);
			return -1;
		}
	}
	if (!out) {
		fprintf(stderr, "counts: out=FILE is missing, or cannot be written\n");
		return -1;
	}
	counts = qemu_plugin_scoreboard_new(functions->len * sizeof(struct counts));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
