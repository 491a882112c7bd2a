/* fio's engine joulio: fio --ioengine=external:libjoulio-fio.so --thread --device=emulated:optane-900p
 *
 * A job is a queue of its own on a controller that the jobs of a device share. Buffers are DMA memory,
 * which fio fills and checks in place; only where blocks are not whole pages they are copied.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fio.h"
#include "optgroup.h"
#include "engine_options.h"
#include "report.h"
#include "shared.h"

#define PAGE 4096

/* An I/O that fio has in hand, as long as the job runs. */
struct request {
	/* Where fio's data is, once it is known; NULL: it is copied. */
	void *at;
	/* The buffer there, or one of its own that is copied to and from. */
	struct joulio_buffer *buffer;
	/* Carries the range of a trim. */
	struct joulio_buffer *range;
};

struct job {
	struct thread_data *td;
	/* A copy: fio frees its files before the job has ended. */
	char *device;
	const char *completion;
	struct joulio_controller *controller;
	struct joulio_queue *queue;
	unsigned int shift;
	/* DDIR_WRITE with leave to write, else DDIR_READ. */
	unsigned int last_in_place;
	/* Reads, writes and trims that have completed. */
	unsigned long long ios;
	unsigned int energy_joined : 1, said : 1;
	/* The end of an I/O is looked at, even of one that succeeded: data is copied, or there are syncs. */
	int looks_at_ends;
	/* fio takes notice of when an I/O is issued. */
	int takes_issue_time;
	/* I/Os of a call that also waits. */
	unsigned int count;

	unsigned int depth;
	struct request *requests;
	struct joulio_completion *completions;
	/* Submitted since the doorbell was rung, up to unrung_end. */
	struct io_u **unrung, **unrung_end;

	/* Buffers, each of buffer_length bytes, one behind the other. */
	struct joulio_buffer **buffers;
	unsigned int buffer_count;
	unsigned long long buffer_length;
	/* Memory that fio has instead, where its blocks are not whole pages. */
	void *copied;
};

/* Jobs of this engine are known by it. */
extern struct ioengine_ops ioengine;

static struct request *request_of(struct io_u *io_u)
{
	return io_u->engine_data;
}

static const char *device_of(struct thread_data *td)
{
	struct engine_options *options = td->eo;

	if (options->device)
		return options->device;
	return td->o.filename && td->files_index == 1 ? td->files[0]->file_name : NULL;
}

static int changes_data(struct thread_data *td)
{
	return td_write(td) || td_trim(td) || td->o.trim_backlog;
}

/* JOULIO_ALLOW_WRITE if a job with this device has leave. */
static unsigned int flags_of_all(const char *device)
{
	unsigned int flags = 0, i;

	for (i = 0; i < thread_number; i++) {
		struct thread_data *other = tnumber_to_td(i);
		struct engine_options *options;

		if (other->io_ops != &ioengine || !(options = other->eo))
			continue;
		if (options->allow_write && device_of(other) && !strcmp(device_of(other), device))
			flags = JOULIO_ALLOW_WRITE;
	}
	return flags;
}

static int check_blocks(struct thread_data *td, const struct joulio_namespace *ns)
{
	static const char *names[] = {"reads", "writes", "trims"};
	unsigned long long bytes = ns->blocks * ns->block_size;
	int ddir;

	for (ddir = DDIR_READ; ddir <= DDIR_TRIM; ddir++) {
		int used = ddir == DDIR_READ ? td_read(td) || td->o.verify
			   : ddir == DDIR_WRITE ? td_write(td) : td_trim(td);
		unsigned long long min = td->o.min_bs[ddir], max = td->o.max_bs[ddir];

		if (!used)
			continue;
		if (min % ns->block_size || max % ns->block_size || td->o.ba[ddir] % ns->block_size)
			return refuse(td->o.name, "bs: %s of %llu to %llu bytes: the device has blocks of %u",
				      names[ddir], min, max, ns->block_size);
		if (ddir != DDIR_TRIM && max > ns->max_transfer)
			return refuse(td->o.name, "bs: %s of %llu bytes: a command moves %u at most",
				      names[ddir], max, ns->max_transfer);
	}
	if (td->o.start_offset % ns->block_size || td->o.start_offset > bytes ||
	    td->o.size > bytes - td->o.start_offset)
		return refuse(td->o.name, "offset=%llu, size=%llu: the device has %llu bytes in blocks of %u",
			      td->o.start_offset, td->o.size, bytes, ns->block_size);
	return 0;
}

static int make_queue(struct thread_data *td, struct job *job)
{
	struct engine_options *options = td->eo;

	controllers_lock();
	job->queue = joulio_queue_create(job->controller, td->o.iodepth, "poll");
	controllers_unlock();
	if (!job->queue)
		return refuse(td->o.name, "iodepth=%u: %s", td->o.iodepth, joulio_error());
	if (options->slo && joulio_set_slo(job->queue, options->slo))
		return refuse(td->o.name, "slo=%s: %s", options->slo, joulio_error());
	if (!options->slo && joulio_set_completion(job->queue, job->completion))
		return refuse(td->o.name, "completion=%s: %s", job->completion, joulio_error());
	return 0;
}

static int check_options(struct thread_data *td)
{
	struct engine_options *options = td->eo;

	if (joulio_check_interface(JOULIO_INTERFACE))
		return refuse(td->o.name, "%s", joulio_error());
	if (!td->o.use_thread)
		return refuse(td->o.name, "jobs share a device and so are threads: add --thread (thread=1)");
	if (td->files_index > 1)
		return refuse(td->o.name, "%u files: a job has one device", td->files_index);
	/* fio refuses it too late, and crashes. */
	if (td->o.mem_type != MEM_MALLOC)
		return refuse(td->o.name, "mem= is not for this engine: buffers are memory that the device reaches");
	if (!device_of(td))
		return refuse(td->o.name, "no device: add --device=emulated:optane-900p, say");
	if (changes_data(td) && !options->allow_write)
		return refuse(td->o.name, "rw=%s changes the data on %s: add --allow_write=1 if that is meant",
			      ddir_str(td->o.td_ddir), device_of(td));
	if (options->slo && strcmp(options->completion, "poll") && strcmp(options->completion, "adaptive"))
		return refuse(td->o.name, "slo= is a promise of completion=adaptive, not of %s",
			      options->completion);
	return 0;
}

static void job_end(struct job *job)
{
	unsigned int i;

	joulio_queue_destroy(job->queue);
	for (i = 0; i < job->buffer_count; i++)
		joulio_buffer_free(job->buffers[i]);
	for (i = 0; job->requests && i < job->depth; i++)
		joulio_buffer_free(job->requests[i].range);
	if (job->controller)
		controller_leave(job->controller);
	free(job->buffers);
	free(job->requests);
	free(job->completions);
	free(job->unrung);
	free(job->copied);
	free(job->device);
	free(job);
}

static struct job *job_begin(struct thread_data *td)
{
	struct engine_options *options = td->eo;
	struct job *job = calloc(1, sizeof(*job));
	unsigned int most;

	if (!job)
		return NULL;
	job->td = td;
	job->device = strdup(device_of(td));
	job->completion = options->slo ? "adaptive" : options->completion;
	job->depth = td->o.iodepth;
	job->requests = calloc(job->depth, sizeof(*job->requests));
	most = td->o.iodepth_batch_complete_max;
	job->completions = calloc(most > job->depth ? most : job->depth, sizeof(*job->completions));
	/* The last is of one that the queue has no room for. */
	job->unrung = calloc(job->depth + 1, sizeof(*job->unrung));
	if (!job->device || !job->requests || !job->completions || !job->unrung) {
		job_end(job);
		return NULL;
	}
	job->unrung_end = job->unrung;
	return job;
}

/* One buffer a request for the ranges of trims. */
static int make_ranges(struct thread_data *td, struct job *job)
{
	unsigned int i;

	/* What is in a log is known only when it is read. */
	if (!td_trim(td) && !td->o.trim_backlog && !td->o.read_iolog_file)
		return 0;
	for (i = 0; i < job->depth; i++) {
		controllers_lock();
		job->requests[i].range = joulio_buffer_alloc(job->controller, PAGE);
		controllers_unlock();
		if (!job->requests[i].range)
			return refuse(td->o.name, "%s", joulio_error());
	}
	return 0;
}

static int engine_setup(struct thread_data *td)
{
	struct engine_options *options = td->eo;
	struct joulio_namespace ns;
	struct job *job;

	if (check_options(td))
		return 1;
	job = job_begin(td);
	if (!job)
		return refuse(td->o.name, "out of memory");
	job->controller = controller_join(td->o.name, job->device, thread_number, flags_of_all(job->device));
	if (!job->controller)
		goto failed;
	if (joulio_namespace_info(job->controller, &ns)) {
		refuse(td->o.name, "%s", joulio_error());
		goto failed;
	}
	if (check_blocks(td, &ns) || energy_check(td->o.name, options->meter, job->controller) ||
	    make_queue(td, job) || make_ranges(td, job))
		goto failed;
	job->shift = __builtin_ctz(ns.block_size);
	job->last_in_place = options->allow_write ? DDIR_WRITE : DDIR_READ;
	if (!td->files_index) {
		add_file(td, job->device, 0, 0);
		td->o.nr_files = td->o.nr_files ? td->o.nr_files : 1;
	}
	td->files[0]->filetype = FIO_TYPE_BLOCK;
	td->files[0]->real_file_size = ns.blocks * ns.block_size;
	fio_file_set_size_known(td->files[0]);
	td->io_ops_data = job;
	return 0;
failed:
	job_end(job);
	return 1;
}

static int engine_init(struct thread_data *td)
{
	struct engine_options *options = td->eo;
	struct job *job = td->io_ops_data;

	if (!job)
		return refuse(td->o.name, "create_serialize=0 is not for this engine: a device is opened before the jobs run");
	/* A trace by blktrace has a depth of its own, which is known only when it is read. */
	if (td->o.iodepth != job->depth)
		return refuse(td->o.name, "the trace has iodepth=%u: add --iodepth=%u", td->o.iodepth, td->o.iodepth);
	if (energy_join(td->o.name, options->meter, job->controller))
		return 1;
	job->energy_joined = 1;
	job->takes_issue_time = fio_fill_issue_time(td);
	return 0;
}

static int engine_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	struct job *job = td->io_ops_data;

	io_u->engine_data = &job->requests[io_u->index];
	return 0;
}

static int engine_iomem_alloc(struct thread_data *td, size_t total)
{
	struct job *job = td->io_ops_data;
	unsigned long long length = td_max_bs(td);
	int copies = length % PAGE || td->o.mem_align, failed;
	unsigned int i;

	/* A log that is read in chunks may ask again, for larger buffers; nothing is in flight then. */
	free(job->buffers);
	free(job->copied);
	job->copied = NULL;
	for (i = 0; i < job->depth; i++)
		job->requests[i].at = NULL;
	job->buffer_length = length;
	job->buffer_count = copies ? job->depth : (total + length - 1) / length;
	job->buffers = calloc(job->buffer_count, sizeof(*job->buffers));
	if (!job->buffers)
		return refuse(td->o.name, "out of memory");
	controllers_lock();
	failed = joulio_buffer_alloc_many(job->controller, job->buffer_count, length, job->buffers);
	controllers_unlock();
	if (failed) {
		job->buffer_count = 0;
		return refuse(td->o.name, "%s", joulio_error());
	}
	if (copies && posix_memalign(&job->copied, PAGE, total))
		return refuse(td->o.name, "out of memory");
	job->looks_at_ends = copies;
	td->orig_buffer = copies ? job->copied : joulio_buffer_data(job->buffers[0]);
	return 0;
}

static void engine_iomem_free(struct thread_data *td)
{
	struct job *job = td->io_ops_data;
	unsigned int i;

	/* One in flight stays, until its queue has ended. */
	for (i = 0; job && i < job->buffer_count; i++)
		if (!joulio_buffer_free(job->buffers[i]))
			job->buffers[i] = NULL;
	td->orig_buffer = NULL;
}

/* Finds the buffer where fio's data of a request is, or the one that it is copied to and from. */
static void place(struct job *job, struct request *request, void *at)
{
	size_t offset;

	if (job->copied) {
		request->buffer = job->buffers[request - job->requests];
		return;
	}
	request->at = at;
	offset = (char *)at - (char *)joulio_buffer_data(job->buffers[0]);
	request->buffer = job->buffers[offset / job->buffer_length];
}

/*
 * The first block of an I/O, and the number of its blocks. What is no whole number of blocks becomes one that no
 * device has, and is refused: refuse_io() says why.
 */
static inline uint64_t first_block(struct job *job, struct io_u *io_u)
{
	uint64_t offset = io_u->offset;

	return offset >> job->shift | offset << (64 - job->shift);
}

static inline uint32_t block_count(struct job *job, struct io_u *io_u)
{
	uint32_t length = io_u->xfer_buflen;

	return length >> job->shift | length << (32 - job->shift);
}

static inline int submit_in_place(struct job *job, struct io_u *io_u)
{
	uint64_t lba = first_block(job, io_u), tag = (uintptr_t)io_u;
	uint32_t blocks = block_count(job, io_u);
	struct joulio_buffer *buffer = request_of(io_u)->buffer;

	if (io_u->ddir == DDIR_READ)
		return joulio_read(job->queue, lba, blocks, buffer, tag);
	return joulio_write(job->queue, lba, blocks, buffer, tag);
}

/* The first failure of a job, in words: fio has only errno's. */
static void say_once(struct job *job, const char *what)
{
	if (!job->said)
		refuse(job->td->o.name, "%s", what);
	job->said = 1;
}

/*
 * Says what is wrong with an I/O that fio lets through: lengths are of blocks in bsrange= only, and what a log does is
 * known when it is read. 0: nothing.
 */
static int refuse_io(struct job *job, struct io_u *io_u)
{
	unsigned long long block = 1ULL << job->shift;
	char text[128];

	if (!ddir_rw(io_u->ddir))
		return 0;
	if ((io_u->offset | io_u->xfer_buflen) & (block - 1)) {
		snprintf(text, sizeof(text), "an I/O of %llu bytes at %llu: the device has blocks of %llu",
			 (unsigned long long)io_u->xfer_buflen, (unsigned long long)io_u->offset, block);
		say_once(job, text);
		return -EINVAL;
	}
	if (io_u->ddir != DDIR_READ && job->last_in_place != DDIR_WRITE) {
		say_once(job, "an I/O changes the data on the device: add --allow_write=1 if that is meant");
		return -EPERM;
	}
	return 0;
}

/* What is not most I/Os: the first in a request, copied data, trims, syncs. */
static __attribute__((noinline, cold)) int submit_other(struct job *job, struct io_u *io_u)
{
	struct request *request = request_of(io_u);
	uint64_t tag = (uintptr_t)io_u;
	struct joulio_range range = {
		.lba = io_u->offset >> job->shift,
		.blocks = io_u->xfer_buflen >> job->shift,
	};
	int error = refuse_io(job, io_u);

	if (error)
		return error;
	switch (io_u->ddir) {
	case DDIR_READ:
	case DDIR_WRITE:
		place(job, request, io_u->xfer_buf);
		if (job->copied && io_u->ddir == DDIR_WRITE)
			memcpy(joulio_buffer_data(request->buffer), io_u->xfer_buf, io_u->xfer_buflen);
		return submit_in_place(job, io_u);
	case DDIR_TRIM:
		return joulio_deallocate(job->queue, &range, 1, request->range, tag);
	case DDIR_SYNC:
	case DDIR_DATASYNC:
		job->looks_at_ends = 1;
		return joulio_flush(job->queue, tag);
	default:
		say_once(job, "a device is synced as a whole, by fsync= or fdatasync=");
		return -EINVAL;
	}
}

/* The last of those that the doorbell is to be rung for was not submitted. */
static __attribute__((noinline, cold)) enum fio_q_status not_submitted(struct job *job, int error)
{
	struct io_u *io_u = *--job->unrung_end;

	if (error == -EAGAIN)
		return FIO_Q_BUSY;
	refuse_io(job, io_u);
	say_once(job, joulio_error());
	io_u->error = -error;
	return FIO_Q_COMPLETED;
}

/* Whether it is a read or a write, if that is allowed, whose data is where the device reaches it. */
static int in_place(struct job *job, struct io_u *io_u)
{
	return (unsigned int)io_u->ddir <= job->last_in_place && request_of(io_u)->at == io_u->xfer_buf;
}

/* Notes that an I/O is issued now, and when. */
static void set_issue_time(struct thread_data *td, struct io_u *io_u)
{
	fio_gettime(&io_u->issue_time, NULL);
	if (td->o.read_iolog_file)
		memcpy(&td->last_issue, &io_u->issue_time, sizeof(td->last_issue));
	io_u_queued(td, io_u);
}

/* Does what there is to do for an I/O that has ended beside handing it on. */
static __attribute__((noinline, cold)) struct io_u *look_at_end(struct job *job,
								const struct joulio_completion *done)
{
	struct io_u *io_u = (void *)(uintptr_t)done->tag;
	char text[64];

	if (job->copied && io_u->ddir == DDIR_READ)
		memcpy(io_u->xfer_buf, joulio_buffer_data(done->buffer), io_u->xfer_buflen);
	if (done->status) {
		snprintf(text, sizeof(text), "a command failed with status %03xh", done->status & 0x7ff);
		say_once(job, text);
		io_u->error = EIO;
	}
	job->ios -= !ddir_rw(io_u->ddir);
	return io_u;
}

static __attribute__((noinline, cold)) int submit_other_and_wait(struct job *job, struct io_u *io_u,
								struct joulio_completion *done)
{
	int error = submit_other(job, io_u);

	if (!error)
		error = joulio_ring(job->queue);
	return error ? error : joulio_reap(job->queue, 1, 1, -1, done);
}

static __attribute__((noinline, cold)) enum fio_q_status not_done(struct job *job, struct io_u *io_u, int error)
{
	refuse_io(job, io_u);
	say_once(job, joulio_error());
	io_u->error = error < 0 ? -error : EIO;
	return FIO_Q_COMPLETED;
}

/* A job of one I/O at a time waits for it at once: submission, doorbell and completion are one call. */
static __attribute__((noinline)) enum fio_q_status submit_and_wait(struct thread_data *td, struct io_u *io_u)
{
	struct job *job = td->io_ops_data;
	int found;

	io_u_mark_submit(td, 1);
	if (job->takes_issue_time)
		set_issue_time(job->td, io_u);
	if (in_place(job, io_u)) {
		struct joulio_io io = {
			.lba = first_block(job, io_u),
			.buffer = request_of(io_u)->buffer,
			.tag = (uintptr_t)io_u,
			.blocks = block_count(job, io_u),
			.opcode = io_u->ddir == DDIR_READ ? JOULIO_READ : JOULIO_WRITE,
		};

		job->count = 1;
		found = joulio_submit_and_wait(job->queue, &io, &job->count, 1, 1, -1, job->completions);
	} else {
		found = submit_other_and_wait(job, io_u, job->completions);
	}
	if (found != 1)
		return not_done(job, io_u, found);
	job->ios++;
	io_u_mark_complete(job->td, 1);
	if (job->completions->status | job->looks_at_ends)
		look_at_end(job, job->completions);
	return FIO_Q_COMPLETED;
}

static enum fio_q_status engine_queue(struct thread_data *td, struct io_u *io_u)
{
	struct job *job;
	int submitted;

	if (td->o.iodepth == 1)
		return submit_and_wait(td, io_u);
	job = td->io_ops_data;
	*job->unrung_end++ = io_u;
	submitted = in_place(job, io_u) ? submit_in_place(job, io_u) : submit_other(job, io_u);
	return submitted ? not_submitted(job, submitted) : FIO_Q_QUEUED;
}

static __attribute__((noinline)) int issue(struct thread_data *td, struct job *job)
{
	struct io_u **at = job->unrung, **end = job->unrung_end, *first = *at;

	job->unrung_end = at;
	io_u_mark_submit(td, end - at);
	if (job->takes_issue_time) {
		set_issue_time(td, first);
		while (++at < end) {
			(*at)->issue_time = first->issue_time;
			io_u_queued(td, *at);
		}
	}
	return joulio_ring(job->queue);
}

/* An I/O is issued when the device can see it. fio calls this before it waits too. */
static int engine_commit(struct thread_data *td)
{
	struct job *job = td->io_ops_data;

	return job->unrung_end == job->unrung ? 0 : issue(td, job);
}

static __attribute__((noinline, cold)) int not_reaped(struct job *job, int error)
{
	say_once(job, joulio_error());
	return error;
}

static int engine_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			    const struct timespec *timeout)
{
	struct job *job = td->io_ops_data;
	int64_t ns = timeout ? timeout->tv_sec * 1000000000LL + timeout->tv_nsec : -1;
	int found = joulio_reap(job->queue, min, max, ns, job->completions);

	if (found < 0)
		return not_reaped(job, found);
	job->ios += found;
	return found;
}

static struct io_u *engine_event(struct thread_data *td, int event)
{
	struct job *job = td->io_ops_data;
	struct joulio_completion *done = &job->completions[event];

	if (done->status | job->looks_at_ends)
		return look_at_end(job, done);
	return (void *)(uintptr_t)done->tag;
}

static void engine_cleanup(struct thread_data *td)
{
	struct joulio_energy energies[ENERGIES_MAX];
	struct job *job = td->io_ops_data;
	struct joulio_counters counters;

	if (!job)
		return;
	if (!joulio_queue_counters(job->queue, &counters))
		report_counters(td, job->device, job->completion, job->ios, &counters);
	if (job->energy_joined) {
		unsigned long long ios = job->ios;
		int found = energy_leave(&ios, energies);

		report_energy(td, ios, energies, found);
	}
	job_end(job);
	td->io_ops_data = NULL;
}

static int engine_file(struct thread_data *td, struct fio_file *file)
{
	return 0;
}

struct ioengine_ops ioengine = {
	.name = "joulio",
	.version = FIO_IOOPS_VERSION,
	/* No file of the kernel's, no thread between submission and queue. */
	.flags = FIO_DISKLESSIO | FIO_RAWIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_NO_OFFLOAD |
		 FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup = engine_setup,
	.init = engine_init,
	.queue = engine_queue,
	.commit = engine_commit,
	.getevents = engine_getevents,
	.event = engine_event,
	.cleanup = engine_cleanup,
	.open_file = engine_file,
	.close_file = engine_file,
	.invalidate = engine_file,
	.unlink_file = engine_file,
	.iomem_alloc = engine_iomem_alloc,
	.iomem_free = engine_iomem_free,
	.io_u_init = engine_io_u_init,
	.options = engine_option_table,
	.option_struct_size = sizeof(struct engine_options),
};
