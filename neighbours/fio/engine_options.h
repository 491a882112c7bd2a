/* Options of the engine. */
#ifndef JOULIO_FIO_ENGINE_OPTIONS_H
#define JOULIO_FIO_ENGINE_OPTIONS_H

/* fio takes an offset of 0 for none. */
struct engine_options {
	void *pad;
	char *device;
	char *completion;
	char *slo;
	char *meter;
	unsigned int allow_write;
};

extern struct fio_option engine_option_table[];

#endif
