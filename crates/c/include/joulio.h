/* joulio: a user-space NVMe driver whose completion mode is a replaceable part.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Made by cbindgen from the sources of joulio-c; a test holds the two together.
 *
 * Every function that can fail returns a negative errno, or NULL, and leaves a line in joulio_error().
 * A handle is used by one thread at a time; different handles by different threads. A child of fork(2) can use none of
 * its parent's: each call with one fails with -EBADF.
 */


#ifndef JOULIO_H
#define JOULIO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Flag that permits commands that write to the namespace: without it they fail with -EPERM.
#define JOULIO_ALLOW_WRITE 1

// Version of the interface that this header describes, for joulio_check_interface().
#define JOULIO_INTERFACE 1

// Flag: creates the file if it does not exist.
#define JOULIO_FILE_CREATE 1

// Flag, with JOULIO_FILE_CREATE: fails with -EEXIST if the file exists.
#define JOULIO_FILE_EXCLUSIVE 2

// A read: the opcode of joulio_io (NVM figure 22).
#define JOULIO_READ 2

// A write.
#define JOULIO_WRITE 1

// Flag: makes an empty volume if the controller's namespace has none; its data is lost.
#define JOULIO_VOLUME_FORMAT 2

// Flag, with JOULIO_VOLUME_FORMAT: overwrites an existing volume, with all its files.
#define JOULIO_VOLUME_OVERWRITE 4

// Memory that a device reaches, mapped for it once, from which buffers of any size are allocated. A buffer that is
// freed returns to it.
struct joulio_arena;

// Memory that a device reaches. From the call that submits it until its completion it belongs to the device: the
// program must not read, write or free it.
struct joulio_buffer;

// A controller with one of its namespaces.
struct joulio_controller;

// An open file of a volume. Threads may use one handle at once: reads go side by side, writes one after
// the other.
struct joulio_file;

// Queues that one thread waits for together, with the completion modes of all. The group and its queues are used by
// one thread at a time, except by joulio_group_wake().
struct joulio_group;

// Meters that are read together.
struct joulio_meters;

// A queue pair of a namespace, with a completion mode.
struct joulio_queue;

// A read that was started. It may be used by another thread than the one that started it, and after its file was
// closed.
struct joulio_started_read;

// Files on a namespace, without a kernel.
struct joulio_volume;

// Function that releases memory of the program after the device has stopped using it: munmap(2), for example.
typedef void (*joulio_release)(void *base, size_t length);

// A range of logical blocks.
struct joulio_range {
  // First logical block.
  uint64_t lba;
  // Number of logical blocks.
  uint32_t blocks;
};

// A read or a write, for joulio_submit_and_wait().
struct joulio_io {
  // First logical block.
  uint64_t lba;
  // Buffer that is read into or written from.
  struct joulio_buffer *buffer;
  // Value that is returned with its completion.
  uint64_t tag;
  // Number of logical blocks.
  uint32_t blocks;
  // JOULIO_READ or JOULIO_WRITE.
  unsigned int opcode;
};

// A completed command.
struct joulio_completion {
  // Value that was given with the command.
  uint64_t tag;
  // Buffer of the command, the caller's again; NULL: it had none.
  struct joulio_buffer *buffer;
  // Dword 0 of the completion.
  uint32_t result;
  // Status field of the completion (NVM Express Base 2.0, 3.3.3.2) without the phase: 0 is success.
  uint16_t status;
};

// A function that is called for each completion, with the caller's context. The completion is valid during the call.
typedef void (*joulio_each)(void *context, const struct joulio_completion *completion);

// Options of joulio_open_with(). A field that is zero has its default: set `size`, and then only what differs. Later
// versions add fields at the end.
struct joulio_options {
  // Bytes of the structure, by which the library knows its version: sizeof(struct joulio_options).
  size_t size;
  // Time limit of an admin command in nanoseconds, at least 1000000, after which the controller is reset; 0: 60 s.
  uint64_t admin_timeout_ns;
  // Time limit of an I/O command in nanoseconds, at least 1000000: after it the command is aborted, and after as
  // long again the controller is reset. Time in which no thread waits does not count. 0: 30 s.
  uint64_t io_timeout_ns;
  // Largest host memory buffer in bytes that is lent to a controller without memory of its own; 0: 128 MiB.
  uint64_t host_memory_max;
  // Number of queue pairs that will be made, up to 65535; the controller may give fewer. 0: one for each CPU.
  unsigned int queues;
  // Number of times, up to 255, that a failed command is sent again, where its status allows it or a reset ended it.
  unsigned int retries;
  // 1: buffers are described by PRPs alone; 0: also by SGLs, where the controller has them.
  unsigned int no_sgls;
  // 1: no host memory is lent; 0: as much as the controller wants, up to `host_memory_max`.
  unsigned int no_host_memory;
};

// A namespace, and what one command to it can move.
struct joulio_namespace {
  // Namespace identifier.
  uint32_t nsid;
  // Bytes of a logical block.
  uint32_t block_size;
  // Size in logical blocks.
  uint64_t blocks;
  // Most bytes that one command can transfer.
  uint32_t max_transfer;
};

// One of several reads.
struct joulio_file_part {
  // Bytes from the start of the file to the first byte.
  uint64_t offset;
  // Memory for the bytes.
  void *into;
  // Bytes that `into` has room for.
  size_t length;
  // Bytes that were read: fewer than `length` only at the end of the file.
  size_t done;
};

// Counts of a queue since it was made.
struct joulio_counters {
  // Polls of the completion queue, those that found nothing included.
  uint64_t polls;
  // Polls that found nothing.
  uint64_t empty_polls;
  // Interrupts of the queue.
  uint64_t interrupts;
  // Waits in which the thread blocked until an interrupt.
  uint64_t blocks;
  // Blocks that an interrupt ended.
  uint64_t wakes;
  // Timer sleeps.
  uint64_t sleeps;
  // User-level waits (TPAUSE, UMWAIT, MWAITX).
  uint64_t pauses;
};

// A part of a buffer, or all of it, in a list.
struct joulio_part {
  // Buffer, which may occur in the list only once (joulio_buffer_split() makes two of it).
  struct joulio_buffer *buffer;
  // First byte of the part.
  size_t offset;
  // Length of the part in bytes.
  size_t length;
};

// The energy of one meter over a window.
struct joulio_energy {
  // Name of the meter: "perf:package-0", "nvme:..."; of the model's profile where it is modelled.
  char meter[64];
  // Boundary of the energy: "wall", "psys", "package", "cores", "dram" or "device".
  char boundary[16];
  // Joules.
  double joules;
  // Error bound of the joules, in joules, as the meter's count is the true one; below zero: not known.
  double error;
  // Seconds of the window, at this meter.
  double seconds;
  // 1 if computed from a profile, 0 if measured.
  int modelled;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Runs any admin command and waits for its end: `command` points to its 64 bytes with CID, FUSE, PSDT,
// MPTR and both PRPs zero. `data`, at most 4096 bytes, is read or written as the opcode says; NULL with
// `length` 0: the command moves none. Dword 0 of the completion is written to `*result` unless that is
// NULL. 0, or a negative errno: -EPERM: the command may change the device, which was opened without
// JOULIO_ALLOW_WRITE, or is the driver's own (queues, events) or never sent (Format, Sanitize); -EINVAL: it
// moves another number of bytes than `length`, or how many is not known, as of a vendor's command unless the
// controller has the standard format (AVSCC); -EIO: the device refused it or did not answer, joulio_error() says what.
//
// # Safety
// `controller` is NULL or a controller, `command` is NULL or points to 64 bytes, `data` has `length`
// bytes.
int joulio_admin(struct joulio_controller *controller,
                 const uint8_t *command,
                 void *data,
                 size_t length,
                 uint32_t *result);

// Runs an admin command as joulio_admin() does, with `buffer` for its data: for more than 4096 bytes, up to the
// `max_transfer` of joulio_namespace_info(). The command's own dwords tell how many bytes it moves, and the buffer has
// at least as many (4096 for a feature). The buffer is the caller's again when this returns, except that after
// -EIO the device may keep its memory (joulio_buffer_data() is NULL then). Returns 0, or a negative errno as
// joulio_admin(); -EBUSY: the buffer is in flight.
//
// # Safety
// `controller` and `buffer` are NULL or handles, `command` is NULL or points to 64 bytes, `result` is NULL or may be
// written to.
int joulio_admin_buffer(struct joulio_controller *controller,
                        const uint8_t *command,
                        struct joulio_buffer *buffer,
                        uint32_t *result);

// Allocates an arena of at least `length` zeroed bytes, of huge pages where there are some. NULL:
// joulio_error() says why.
//
// # Safety
// `controller` is NULL or a controller.
struct joulio_arena *joulio_arena_alloc(struct joulio_controller *controller, size_t length);

// Makes an arena of the program's own memory: `length` bytes at `base`, both multiples of the page (of 2 MiB if huge),
// mapped readable and writable. The memory must stay mapped, and must not be accessed otherwise, nor by a child
// (madvise(2), MADV_DONTFORK), until `release` is called by any thread: after the arena and its buffers are freed and
// the device has stopped using it. `release` may be NULL. It may be called within any call of this library, and may
// itself call the library, but not with a handle of that call, nor, within a call of a group or of a queue in one, with
// that group or any queue of it. Returns NULL on failure, see joulio_error(); `release` is then not called.
//
// # Safety
// `controller` is NULL or a controller; the memory is as above.
struct joulio_arena *joulio_arena_register(struct joulio_controller *controller,
                                           void *base,
                                           size_t length,
                                           joulio_release release);

// Makes an arena of `length` bytes from `offset` of `fd`, a memfd or a file of tmpfs or hugetlbfs that holds them,
// `offset` a multiple of its pages; the length is rounded up to whole ones. It is mapped shared by this call, and `fd`
// may be closed. Returns NULL on failure, see joulio_error().
//
// # Safety
// `controller` is NULL or a controller.
struct joulio_arena *joulio_arena_map(struct joulio_controller *controller,
                                      int fd,
                                      uint64_t offset,
                                      size_t length);

// Allocates a buffer of `length` bytes, rounded up to a multiple of 4, on a page boundary if it has a page or more. It
// is freed with joulio_buffer_free(), before or after the arena. Returns NULL on failure, see joulio_error().
//
// # Safety
// `arena` is NULL or an arena.
struct joulio_buffer *joulio_arena_take(struct joulio_arena *arena,
                                        size_t length);

// Allocates the buffer of `length` bytes, rounded up to a multiple of 4, at `offset` of the arena, a multiple of 4:
// the program decides the layout. Returns NULL on failure, see joulio_error(): a part of the range belongs to another
// buffer, or is outside the arena.
//
// # Safety
// `arena` is NULL or an arena.
struct joulio_buffer *joulio_arena_take_at(struct joulio_arena *arena,
                                           size_t offset,
                                           size_t length);

// Length of the arena in bytes; 0 for NULL.
//
// # Safety
// `arena` is NULL or an arena.
size_t joulio_arena_length(const struct joulio_arena *arena);

// Frees the arena; NULL is allowed. Its buffers stay, and its memory with the last of them. 0, or a
// negative errno: it is not an arena.
//
// # Safety
// `arena` is NULL or an arena.
int joulio_arena_free(struct joulio_arena *arena);

// Allocates a zeroed buffer of `length` bytes (at least 1) for commands to `controller`, on a page
// boundary. NULL: joulio_error() says why.
//
// # Safety
// `controller` is NULL or a controller.
struct joulio_buffer *joulio_buffer_alloc(struct joulio_controller *controller, size_t length);

// Allocates `count` zeroed buffers of `length` bytes in one memory, one after the other, each on a page boundary
// (without gaps if `length` is a multiple of the page), into `buffers`. Each is freed separately. Returns 0, or a
// negative errno, and then no buffer was allocated.
//
// # Safety
// `controller` is NULL or a controller; `buffers` is NULL or has room for `count`.
int joulio_buffer_alloc_many(struct joulio_controller *controller,
                             unsigned int count,
                             size_t length,
                             struct joulio_buffer **buffers);

// Address of the buffer's first byte, for as long as the buffer is not freed. NULL for NULL, and for a
// buffer that its device keeps.
//
// # Safety
// `buffer` is NULL or a buffer.
void *joulio_buffer_data(const struct joulio_buffer *buffer);

// Length of the buffer in bytes; 0 for NULL.
//
// # Safety
// `buffer` is NULL or a buffer.
size_t joulio_buffer_length(const struct joulio_buffer *buffer);

// Splits the buffer in two: it keeps the bytes before `at`, a multiple of 4 inside the buffer, and the returned buffer
// has the rest. Each is freed separately. Returns NULL on failure, see joulio_error().
//
// # Safety
// `buffer` is NULL or a buffer.
struct joulio_buffer *joulio_buffer_split(struct joulio_buffer *buffer,
                                          size_t at);

// Joins the buffer with `rest`, which begins where the buffer ends in the same memory; frees the handle `rest`.
// Returns 0, or a negative errno, and then both are unchanged.
//
// # Safety
// `buffer` and `rest` are NULL or buffers.
int joulio_buffer_join(struct joulio_buffer *buffer,
                       struct joulio_buffer *rest);

// Frees the buffer; NULL is allowed. -EBUSY: it is in flight, and stays.
//
// # Safety
// `buffer` is NULL or a buffer.
int joulio_buffer_free(struct joulio_buffer *buffer);

// Submits a read of `blocks` logical blocks from `lba` into `buffer`. Returns 0, or a negative errno: -EAGAIN: the
// queue is full; the buffer remains the caller's. The device gets the command with joulio_ring().
//
// # Safety
// `queue` and `buffer` are NULL or handles; the buffer is not touched before it comes back.
int joulio_read(struct joulio_queue *queue,
                uint64_t lba,
                uint32_t blocks,
                struct joulio_buffer *buffer,
                uint64_t tag);

// Submits a write of `blocks` logical blocks from `buffer` to `lba`, as joulio_read(). -EPERM: the
// device was opened without JOULIO_ALLOW_WRITE.
//
// # Safety
// As joulio_read().
int joulio_write(struct joulio_queue *queue,
                 uint64_t lba,
                 uint32_t blocks,
                 struct joulio_buffer *buffer,
                 uint64_t tag);

// Submits a read as joulio_read() does, to `offset` of `buffer`, a multiple of 4. The whole buffer is in use until the
// completion; joulio_buffer_split() makes two buffers for separate commands.
//
// # Safety
// As joulio_read().
int joulio_read_at(struct joulio_queue *queue,
                   uint64_t lba,
                   uint32_t blocks,
                   struct joulio_buffer *buffer,
                   size_t offset,
                   uint64_t tag);

// Submits a write as joulio_write() does, from `offset` of `buffer`, a multiple of 4.
//
// # Safety
// As joulio_read().
int joulio_write_at(struct joulio_queue *queue,
                    uint64_t lba,
                    uint32_t blocks,
                    struct joulio_buffer *buffer,
                    size_t offset,
                    uint64_t tag);

// Submits any I/O command: `command` points to its 64 bytes (Base figure 87) with CID, FUSE, PSDT, MPTR and both PRPs
// zero. `buffer`: NULL for a command that moves no data. The length of its data is derived from its own dwords, so
// that the device cannot access memory beyond the buffer. Returns 0, or a negative errno.
//
// # Safety
// `queue` and `buffer` are NULL or handles, `command` is NULL or points to 64 bytes.
int joulio_submit(struct joulio_queue *queue,
                  const uint8_t *command,
                  struct joulio_buffer *buffer,
                  uint64_t tag);

// Submits a flush: when it has completed, writes that completed before it are on non-volatile media. Returns 0, or a
// negative errno.
//
// # Safety
// `queue` is NULL or a queue.
int joulio_flush(struct joulio_queue *queue,
                 uint64_t tag);

// Submits a deallocation (trim) of `count` ranges, 1 to 256, which are written to `buffer` for the device, 16 bytes
// each. Returns 0, or a negative errno: -EPERM: the device was opened without JOULIO_ALLOW_WRITE; -EOPNOTSUPP: the
// controller has no deallocation.
//
// # Safety
// `queue` and `buffer` are NULL or handles; `ranges` is NULL or has `count` of them.
int joulio_deallocate(struct joulio_queue *queue,
                      const struct joulio_range *ranges,
                      unsigned int count,
                      struct joulio_buffer *buffer,
                      uint64_t tag);

// Rings the doorbell for all commands submitted since the last ring. Returns 0, or a negative errno.
//
// # Safety
// `queue` is NULL or a queue.
int joulio_ring(struct joulio_queue *queue);

// Submits the `*count` reads and writes at `ios`, rings the doorbell once, and returns completions as joulio_reap()
// does, also those of commands submitted before: one call instead of many. With `max` = 0 nothing is reaped. Returns
// the number of completions; or the negative errno of an I/O that was refused (as by joulio_read(), joulio_write()),
// with its index in `*count`: the I/Os before it were submitted, the others remain the caller's, and nothing was
// reaped; or a negative errno of joulio_reap() after all were submitted.
//
// # Safety
// `queue` is NULL or a queue; `count` is NULL or says how many `ios` there are, each with a handle or
// NULL; `completions` has room for `max`.
int joulio_submit_and_wait(struct joulio_queue *queue,
                           const struct joulio_io *ios,
                           unsigned int *count,
                           unsigned int min,
                           unsigned int max,
                           int64_t timeout_ns,
                           struct joulio_completion *completions);

// Returns up to `max` completions in `completions`. Waits, with the queue's completion mode, until at least `min` are
// there or `timeout_ns` have passed; a negative timeout means none, and then nothing in flight returns 0 at once. `min`
// = 0 polls once. Returns their number, or a negative errno: -EIO: the device failed; the queue can still be used, or,
// if its controller is gone, fails again after each command that it ends with status 371h.
//
// # Safety
// `queue` is NULL or a queue; `completions` has room for `max`.
int joulio_reap(struct joulio_queue *queue,
                unsigned int min,
                unsigned int max,
                int64_t timeout_ns,
                struct joulio_completion *completions);

// Waits as joulio_reap() does, and calls `each` with `context` for each completion, up to `max`, of the commands that
// are in flight now. A completion is valid during its call. `each` may use the queue as any code may: submit on it (a
// later call returns those completions), reap, or destroy it. It has to return: neither longjmp(3) nor an exception
// leaves it. joulio_outstanding() does not count completions for which it is about to be called. Returns the number of
// completions, or a negative errno as joulio_reap(), and then `each` was not called.
//
// # Safety
// `queue` is NULL or a queue; `each` is NULL or a function for `context`.
int joulio_reap_each(struct joulio_queue *queue,
                     unsigned int min,
                     unsigned int max,
                     int64_t timeout_ns,
                     joulio_each each,
                     void *context);

// Returns the descriptor that becomes readable, after joulio_arm() returned 1, when there are completions to reap: for
// poll(2), epoll(7) or any event loop. It stays the same until the queue joins a group; the queue closes it, also when
// it joins one. Or a negative errno.
//
// # Safety
// `queue` is NULL or a queue.
int joulio_fd(struct joulio_queue *queue);

// Enables the queue's interrupt, then polls. Returns 1 if nothing was found: wait for joulio_fd(); 0: reap first; or a
// negative errno: the completion mode of a queue with commands in flight has to be one that blocks, as "interrupt"
// does.
//
// # Safety
// `queue` is NULL or a queue.
int joulio_arm(struct joulio_queue *queue);

// Returns the number of commands in flight, including completions that were not returned yet; or a negative errno.
//
// # Safety
// `queue` is NULL or a queue.
int joulio_outstanding(struct joulio_queue *queue);

// Opens a device: "emulated:optane-900p", "pcie:0000:01:00.0" or "vfio-user:/run/nvme.sock", with
// parameters as the command's --device takes them, and resets it. `queues`: queue pairs that will be
// made, at least 1; the controller may give fewer. `flags`: 0 or JOULIO_ALLOW_WRITE. NULL:
// joulio_error() says why.
//
// # Safety
// `device` is NULL or a C string.
struct joulio_controller *joulio_open(const char *device,
                                      unsigned int queues,
                                      unsigned int flags);

// Opens a device as joulio_open() does, with `options`; NULL: all defaults. Returns NULL on failure, see
// joulio_error().
//
// # Safety
// `device` is NULL or a C string; `options` is NULL or has as many bytes as its `size` says.
struct joulio_controller *joulio_open_with(const char *device,
                                           unsigned int flags,
                                           const struct joulio_options *options);

// Opens another namespace of the same controller: a handle with which queues for it are made, and which is closed
// with joulio_close(), before `controller` or after it. It permits writes if `controller` does. Buffers and arenas of
// either handle serve both, and both share the controller's queue pairs. Identify by joulio_admin() lists the
// namespaces (CNS 02h). Returns NULL on failure, see joulio_error(): the namespace does not exist, or has a format
// that joulio does not support.
//
// # Safety
// `controller` is NULL or a controller.
struct joulio_controller *joulio_namespace_open(struct joulio_controller *controller,
                                                uint32_t nsid);

// Closes the controller; NULL is allowed. Its queues, buffers and other namespaces may be closed later: the device is
// shut down with the last of them. Returns 0, or a negative errno: it is not a controller, or closed already.
//
// # Safety
// `controller` is NULL or a controller.
int joulio_close(struct joulio_controller *controller);

// Describes the controller's namespace in `*namespace_`. 0, or a negative errno.
//
// # Safety
// `controller` is NULL or a controller; `namespace_` is NULL or may be written to.
int joulio_namespace_info(const struct joulio_controller *controller,
                          struct joulio_namespace *namespace_);

// Text of the last failure of the calling thread, one line in English of at most 1023 bytes; empty before
// the first. It is valid until the thread's next failure. A function that returns NULL for a failure sets errno(3) too.
const char *joulio_error(void);

// Checks that the library has the interface that the program was compiled for: call it with JOULIO_INTERFACE. Returns
// 0, or -EPROTONOSUPPORT with a text that names both.
int joulio_check_interface(unsigned int interface);

// Version of the library, as "0.1.0".
const char *joulio_version(void);

// Opens the file `name` of the volume. `flags`: 0, JOULIO_FILE_CREATE, or that and JOULIO_FILE_EXCLUSIVE.
// NULL: joulio_error() says why.
//
// # Safety
// `volume` is NULL or a volume, `name` is NULL or a C string.
struct joulio_file *joulio_file_open(struct joulio_volume *volume,
                                     const char *name,
                                     unsigned int flags);

// Closes the file; NULL is allowed. 0, or a negative errno.
//
// # Safety
// `file` is NULL or a file that no other thread uses.
int joulio_file_close(struct joulio_file *file);

// Reads `length` bytes at `offset` into `into`, and writes their number to `*done`, unless that is NULL:
// fewer only at the end of the file. 0, or a negative errno.
//
// # Safety
// `file` is NULL or a file, `into` has room for `length` bytes, `done` is NULL or may be written to.
int joulio_file_read(struct joulio_file *file,
                     uint64_t offset,
                     void *into,
                     size_t length,
                     size_t *done);

// Executes `count` reads side by side, and stores in each the number of bytes read. Returns 0, or a negative errno.
//
// # Safety
// `file` is NULL or a file, `parts` has `count` of them, and their memory does not overlap.
int joulio_file_read_many(struct joulio_file *file,
                          struct joulio_file_part *parts,
                          size_t count);

// Starts to read `length` bytes at `offset` into `into`, and returns before the device has ended, so that a thread can
// have several reads in flight. joulio_file_read_wait() or joulio_file_read_cancel() ends the read; `into` stays valid
// and unused until then. Bytes that are written or truncated meanwhile are undefined. NULL: joulio_error() says why.
//
// # Safety
// `file` is NULL or a file, `into` has room for `length` bytes until the read has ended.
struct joulio_started_read *joulio_file_read_start(struct joulio_file *file,
                                                   uint64_t offset,
                                                   void *into,
                                                   size_t length);

// Waits for a read, ends it, and writes the number of bytes read to `*done`, unless that is NULL: fewer only at the
// end of the file. 0, or a negative errno; the read has ended in any case.
//
// # Safety
// `started` is NULL or a started read, `done` is NULL or may be written to.
int joulio_file_read_wait(struct joulio_started_read *started,
                          size_t *done);

// Ends a read without waiting for the device; NULL is allowed. Nothing is written to its memory after the return: the
// device's data arrives in buffers of the volume's own, and is dropped. 0, or a negative errno.
//
// # Safety
// `started` is NULL or a started read.
int joulio_file_read_cancel(struct joulio_started_read *started);

// Writes `length` bytes of `from` at `offset`; a gap before it becomes zeroes. 0, or a negative errno:
// -ENOSPC: the volume is full.
//
// # Safety
// `file` is NULL or a file, `from` has `length` bytes.
int joulio_file_write(struct joulio_file *file,
                      uint64_t offset,
                      const void *from,
                      size_t length);

// Writes `length` bytes of `from` at the end, and their offset to `*offset`, unless that is NULL. 0, or a
// negative errno.
//
// # Safety
// `file` is NULL or a file, `from` has `length` bytes, `offset` is NULL or may be written to.
int joulio_file_append(struct joulio_file *file,
                       const void *from,
                       size_t length,
                       uint64_t *offset);

// Sets the file's size to `size` bytes: data beyond it is lost, new bytes are zeroes. Returns 0, or a negative errno.
//
// # Safety
// `file` is NULL or a file.
int joulio_file_truncate(struct joulio_file *file,
                         uint64_t size);

// Makes the file's data, name and size durable. Returns 0, or a negative errno.
//
// # Safety
// `file` is NULL or a file.
int joulio_file_sync(struct joulio_file *file);

// Writes the size in bytes to `*size`. 0, or a negative errno.
//
// # Safety
// `file` is NULL or a file, `size` is NULL or may be written to.
int joulio_file_size(struct joulio_file *file, uint64_t *size);

// Makes a group for queues of `controller` and of others of its back end (emulated, pcie, vfio-user). NULL:
// joulio_error() says why.
//
// # Safety
// `controller` is NULL or a controller.
struct joulio_group *joulio_group_create(struct joulio_controller *controller);

// Destroys the group; NULL is allowed. 0, or a negative errno: -EBUSY: queues are in it.
//
// # Safety
// `group` is NULL or a group.
int joulio_group_destroy(struct joulio_group *group);

// Adds a queue, with its commands in flight and its completion mode. Commands are submitted to it as
// before; completions are the group's from now on. 0, or a negative errno: -EBUSY: it is in a group.
//
// # Safety
// `group` and `queue` are NULL or handles.
int joulio_group_join(struct joulio_group *group,
                      struct joulio_queue *queue);

// Removes a queue from the group, with its commands in flight: it waits alone again. Returns 0, or a negative errno. A
// queue that is destroyed leaves its group.
//
// # Safety
// `group` and `queue` are NULL or handles.
int joulio_group_leave(struct joulio_group *group,
                       struct joulio_queue *queue);

// Returns completions of all queues of the group, as joulio_reap() does of one queue; the tags have to tell which
// queue they are of. A group without queues returns 0 at once.
//
// # Safety
// `group` is NULL or a group; `completions` has room for `max`.
int joulio_group_reap(struct joulio_group *group,
                      unsigned int min,
                      unsigned int max,
                      int64_t timeout_ns,
                      struct joulio_completion *completions);

// Waits as joulio_group_reap() does, and calls `each` with `context` for each completion, as joulio_reap_each() does of
// one queue. `each` may use the group and its queues, and destroy queues. Returns the number of completions, or a
// negative errno, and then `each` was not called.
//
// # Safety
// `group` is NULL or a group that nobody destroys meanwhile; `each` is NULL or a function for `context`.
int joulio_group_reap_each(struct joulio_group *group,
                           unsigned int min,
                           unsigned int max,
                           int64_t timeout_ns,
                           joulio_each each,
                           void *context);

// Descriptor of the group, as joulio_fd() of a queue. Or a negative errno.
//
// # Safety
// `group` is NULL or a group.
int joulio_group_fd(struct joulio_group *group);

// Enables the interrupts of all queues with commands in flight, then polls, as joulio_arm() does. Returns 1 if nothing
// was found: wait for joulio_group_fd(); 0: reap first; or a negative errno.
//
// # Safety
// `group` is NULL or a group.
int joulio_group_arm(struct joulio_group *group);

// Makes the descriptor of the group readable at once, until the next joulio_group_arm(): for a thread that wants the
// attention of the one that waits for the descriptor. Any thread may call it as long as the group is not destroyed;
// while another is in a call of the group, it waits until that returns. joulio_group_arm() also ends a wake that came
// before, so the loop looks for its work after that call, not before it. Returns 0, or a negative errno.
//
// # Safety
// `group` is NULL or a group that no other thread destroys meanwhile.
int joulio_group_wake(struct joulio_group *group);

// Number of commands in flight on all queues, completions that were not handed out included; or a negative
// errno.
//
// # Safety
// `group` is NULL or a group.
int joulio_group_outstanding(struct joulio_group *group);

// Stores the counts of the group, which waits, and of its queues in `*counters`. Returns 0, or a negative errno.
//
// # Safety
// `group` is NULL or a group; `counters` is NULL or may be written to.
int joulio_group_counters(struct joulio_group *group,
                          struct joulio_counters *counters);

// Submits a read of `blocks` logical blocks from `lba` into `count` parts, one behind the other. Parts that are
// adjacent for the device count as one. A controller with SGLs accepts parts of multiples of 4 bytes, one without SGLs
// accepts pages. All buffers return with the one completion, whose `buffer` is that of the first part. Returns 0, or a
// negative errno, and then all buffers remain the caller's.
//
// # Safety
// `queue` is NULL or a queue; `parts` is NULL or has `count` of them, each with a handle or NULL.
int joulio_readv(struct joulio_queue *queue,
                 uint64_t lba,
                 uint32_t blocks,
                 const struct joulio_part *parts,
                 unsigned int count,
                 uint64_t tag);

// Submits a write of `blocks` logical blocks to `lba` from `count` parts, one behind the other, as
// joulio_readv(). -EPERM: the device was opened without JOULIO_ALLOW_WRITE.
//
// # Safety
// As joulio_readv().
int joulio_writev(struct joulio_queue *queue,
                  uint64_t lba,
                  uint32_t blocks,
                  const struct joulio_part *parts,
                  unsigned int count,
                  uint64_t tag);

// Submits any I/O command that moves data, as joulio_submit(), with a list of buffers, as
// joulio_readv(). 0, or a negative errno.
//
// # Safety
// As joulio_readv(); `command` is NULL or points to 64 bytes.
int joulio_submitv(struct joulio_queue *queue,
                   const uint8_t *command,
                   const struct joulio_part *parts,
                   unsigned int count,
                   uint64_t tag);

// Opens meters: `words` as the command's --meter takes them, separated by spaces ("all", "package",
// "perf:package-0"); NULL is all. With a `controller` the meter in its device is one of them; an emulated
// device's is modelled. NULL: joulio_error() says why. A machine without a meter has none, and that is no
// error where none was named.
//
// # Safety
// `words` is NULL or a C string; `controller` is NULL or a controller.
struct joulio_meters *joulio_meters_open(const char *words,
                                         struct joulio_controller *controller);

// Begins a window. 0, or a negative errno: -EBUSY: one is open.
//
// # Safety
// `meters` is NULL or meters.
int joulio_meters_start(struct joulio_meters *meters);

// Ends the window and writes the energy of up to `max` meters to `energies`; a meter that has no figure
// is left out. Number of figures, or a negative errno: -ENODATA: there are meters and none has a figure,
// as of a window below a second; -EINVAL: no window is open.
//
// # Safety
// `meters` is NULL or meters; `energies` has room for `max`.
int joulio_meters_stop(struct joulio_meters *meters,
                       struct joulio_energy *energies,
                       unsigned int max);

// Closes the meters, with their window if one is open; NULL is allowed. 0, or a negative errno.
//
// # Safety
// `meters` is NULL or meters.
int joulio_meters_close(struct joulio_meters *meters);

// Makes a queue pair with room for `depth` commands (at least 1) that waits with the mode `completion`, as the
// command's --completion takes it: "poll", "interrupt", "adaptive", "hybrid=4us" ... NULL: joulio_error() says why.
//
// # Safety
// `controller` is NULL or a controller, `completion` is NULL or a C string.
struct joulio_queue *joulio_queue_create(struct joulio_controller *controller,
                                         unsigned int depth,
                                         const char *completion);

// Destroys the queue; NULL is allowed. Commands in flight are not waited for: the driver keeps their memory until the
// device has stopped using it; their buffers lose their data and still have to be freed. Returns 0, or a negative
// errno: it is not a queue.
//
// # Safety
// `queue` is NULL or a queue.
int joulio_queue_destroy(struct joulio_queue *queue);

// Changes the completion mode, at any time, with commands in flight or not. 0, or a negative errno: the
// mode is unknown or unavailable on this machine, and the queue keeps the one it has.
//
// # Safety
// `queue` is NULL or a queue, `completion` is NULL or a C string.
int joulio_set_completion(struct joulio_queue *queue,
                          const char *completion);

// Changes the completion mode to "adaptive" with a promise, as the command's --slo takes it: "15us",
// "p99=15us,p99.9=40us". It waits with the least energy that keeps the promise. Returns 0, or a negative errno.
//
// # Safety
// `queue` is NULL or a queue, `slo` is NULL or a C string.
int joulio_set_slo(struct joulio_queue *queue,
                   const char *slo);

// Directs the interrupts that the queue's completion mode blocks for to `cpu`, the CPU of the thread that waits, and
// writes the CPUs that then take them to `cpus`, at most `max`; NULL if `max` is 0. The setting lasts until the
// controller is closed, also in other completion modes. Returns the number of those CPUs, also if it is above `max`;
// 0: the mode has no interrupts that the kernel takes, or no CPU takes them, as of an emulated device; or a negative
// errno of the system: -EACCES or -EPERM: it takes root; -EINVAL: the CPU is not online.
//
// # Safety
// `queue` is NULL or a queue; `cpus` is NULL or has room for `max`.
int joulio_direct_interrupts(struct joulio_queue *queue,
                             unsigned int cpu,
                             unsigned int *cpus,
                             unsigned int max);

// Stores the counts of the queue in `*counters`. Returns 0, or a negative errno.
//
// # Safety
// `queue` is NULL or a queue; `counters` is NULL or may be written to.
int joulio_queue_counters(struct joulio_queue *queue, struct joulio_counters *counters);

// Opens the volume on the controller's namespace; its calls wait with the mode `completion`, as for
// joulio_queue_create(). Each thread has a queue pair for the time of a call, as long as the controller has enough.
// `flags`: 0, or JOULIO_VOLUME_FORMAT, and JOULIO_VOLUME_OVERWRITE with it; the controller was opened with
// JOULIO_ALLOW_WRITE then. One volume of a controller that may be written is open at a time (EBUSY). The controller
// may be closed before the volume. NULL: joulio_error() says why: without a volume on the namespace and without
// JOULIO_VOLUME_FORMAT, for example.
//
// # Safety
// `controller` is NULL or a controller, `completion` is NULL or a C string.
struct joulio_volume *joulio_volume_open(struct joulio_controller *controller,
                                         const char *completion,
                                         unsigned int flags);

// Closes the volume; NULL is allowed. Data that was not synced may be lost. Its files may still be used and closed
// later; it stays open, and cannot be opened again, until the last of them is closed. Returns 0, or a negative errno.
//
// # Safety
// `volume` is NULL or a volume that no other thread uses.
int joulio_volume_close(struct joulio_volume *volume);

// Makes all data and changes until now durable. Returns 0, or a negative errno.
//
// # Safety
// `volume` is NULL or a volume.
int joulio_volume_sync(struct joulio_volume *volume);

// Writes the size in bytes of the file `name` to `*size`, unless that is NULL. 0, or a negative errno:
// -ENOENT: there is no such file.
//
// # Safety
// `volume` is NULL or a volume, `name` is NULL or a C string, `size` is NULL or may be written to.
int joulio_volume_stat(struct joulio_volume *volume,
                       const char *name,
                       uint64_t *size);

// Removes the file `name`, durably. Open handles can be used until they are closed. Returns 0, or a negative errno.
//
// # Safety
// `volume` is NULL or a volume, `name` is NULL or a C string.
int joulio_volume_remove(struct joulio_volume *volume,
                         const char *name);

// Renames the file `from` to `to`, atomically and durably; a file that had the name is removed. Returns 0, or a
// negative errno.
//
// # Safety
// `volume` is NULL or a volume, `from` and `to` are NULL or C strings.
int joulio_volume_rename(struct joulio_volume *volume,
                         const char *from,
                         const char *to);

// Calls `each` with `context` and every name that begins with `prefix`, in order; NULL is all names. It may
// call other functions of the volume. It has to return: neither longjmp(3) nor an exception leaves it. Number of names,
// or a negative errno.
//
// # Safety
// `volume` is NULL or a volume, `prefix` is NULL or a C string.
int joulio_volume_names(struct joulio_volume *volume,
                        const char *prefix,
                        void (*each)(void *context, const char *name),
                        void *context);

// Writes the bytes in all units of the volume to `*total` and those in free ones to `*free_`, unless
// these are NULL. Units of removed and shortened files are free from the next joulio_volume_sync() on. 0, or a negative
// errno.
//
// # Safety
// `volume` is NULL or a volume, `total` and `free_` are NULL or may be written to.
int joulio_volume_space(struct joulio_volume *volume,
                        uint64_t *total,
                        uint64_t *free_);

// Stores the counts of the volume's queue pairs, except those that threads use at the moment, in `*counters`. Returns
// 0, or a negative errno.
//
// # Safety
// `volume` is NULL or a volume; `counters` is NULL or may be written to.
int joulio_volume_counters(struct joulio_volume *volume,
                           struct joulio_counters *counters);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* JOULIO_H */
