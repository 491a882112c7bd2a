/* Admin commands, used well and badly. Exit status 0: all as the header says. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdint.h>
#include "claims.h"

#define DEVICE "emulated:instant,size=16M"

/* Data of up to a page, in memory of the caller's. */
static void admin(void)
{
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_controller *writer = joulio_open(DEVICE, 1, JOULIO_ALLOW_WRITE);
	unsigned char command[64] = {0};
	char page[4097];
	uint32_t result = 0;

	command[0] = 0x06; /* Identify */
	command[40] = 1;   /* Controller */
	memset(page, 0xff, sizeof page);
	CHECK(joulio_admin(reader, command, page, 4096, NULL) == 0);
	/* SN is ASCII, and no byte is written past the data. */
	CHECK(page[4] >= 0x20 && page[4] < 0x7f && page[4096] == '\xff');
	CHECK(joulio_admin(reader, NULL, page, 4096, NULL) == -EINVAL && says("command is NULL"));
	CHECK(joulio_admin(reader, command, NULL, 4096, NULL) == -EINVAL && says("data is NULL"));
	CHECK(joulio_admin(reader, command, page, 512, NULL) == -EINVAL && says("4096"));
	CHECK(joulio_admin(reader, command, NULL, 0, NULL) == -EINVAL);
	CHECK(joulio_admin(reader, command, page, 4097, NULL) == -EINVAL && says("maximum"));
	command[24] = 1; /* PRP1 */
	CHECK(joulio_admin(reader, command, page, 4096, NULL) == -EINVAL && says("PRP"));
	memset(command, 0, sizeof command);
	command[0] = 0x02; /* Get Log Page: SMART, 512 bytes */
	command[4] = command[5] = command[6] = command[7] = 0xff;
	command[40] = 2;
	command[42] = 127;
	CHECK(joulio_admin(reader, command, page, 512, NULL) == 0);
	CHECK(joulio_admin(reader, command, page, 256, NULL) == -EINVAL && says("512"));
	memset(command, 0, sizeof command);
	command[0] = 0x0a; /* Get Features: Power Management */
	command[40] = 2;
	CHECK(joulio_admin(reader, command, NULL, 0, &result) == 0);
	command[40] = 0xee;
	CHECK(joulio_admin(reader, command, NULL, 0, &result) == -EIO && *joulio_error());
	command[40] = 0x0c; /* Autonomous Power State Transition: a table that is not wanted */
	CHECK(joulio_admin(reader, command, NULL, 0, &result) == 0);
	command[0] = 0x09; /* Set Features */
	CHECK(joulio_admin(writer, command, NULL, 0, &result) == -EINVAL && says("0ch has data"));
	command[40] = 7; /* Number of Queues */
	CHECK(joulio_admin(writer, command, NULL, 0, &result) == -EPERM && says("number of queues"));
	command[40] = 2;
	CHECK(joulio_admin(reader, command, NULL, 0, &result) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	CHECK(joulio_admin(writer, command, NULL, 0, &result) == 0);
	command[0] = 0x00; /* Delete I/O Submission Queue */
	CHECK(joulio_admin(writer, command, NULL, 0, &result) == -EPERM && says("driver's"));
	command[0] = 0x80; /* Format NVM */
	CHECK(joulio_admin(writer, command, NULL, 0, &result) == -EPERM && says("formats"));
	CHECK(joulio_admin(writer, command, page, 16, &result) == -EPERM);
	memset(command, 0, sizeof command);
	command[0] = 0x11; /* Firmware Image Download: 8192 bytes */
	command[40] = 0xff;
	command[41] = 0x07;
	CHECK(joulio_admin(writer, command, page, 4096, NULL) == -EINVAL && says("8192"));
	command[0] = 0x82; /* Security Receive: 8192 bytes */
	command[40] = command[41] = 0;
	command[45] = 0x20;
	CHECK(joulio_admin(writer, command, page, 512, NULL) == -EINVAL && says("8192"));
	command[0] = 0xc2; /* a vendor's */
	CHECK(joulio_admin(writer, command, page, 512, NULL) == -EINVAL && *joulio_error());
	CHECK(joulio_close(reader) == 0 && joulio_close(writer) == 0);
}

/* Data of more than a page, in a buffer. */
static void admin_buffer(void)
{
	struct joulio_controller *reader = joulio_open(DEVICE, 1, 0);
	struct joulio_controller *writer = joulio_open(DEVICE, 1, JOULIO_ALLOW_WRITE);
	struct joulio_queue *queue = joulio_queue_create(reader, 1, "poll");
	struct joulio_buffer *buffer = joulio_buffer_alloc(reader, 8192);
	struct joulio_buffer *own = joulio_buffer_alloc(writer, 8192);
	unsigned char command[64] = {0}, *bytes = joulio_buffer_data(buffer);
	uint32_t result = 0xffffffff;

	command[0] = 0x06; /* Identify */
	command[40] = 1;   /* Controller */
	memset(bytes, 0xff, 8192);
	CHECK(joulio_admin_buffer(reader, command, buffer, &result) == 0 && result == 0);
	CHECK(bytes[4] >= 0x20 && bytes[4] < 0x7f && bytes[4096] == 0xff);
	CHECK(joulio_admin_buffer(reader, NULL, buffer, NULL) == -EINVAL && says("command is NULL"));
	CHECK(joulio_admin_buffer(reader, command, NULL, NULL) == -EINVAL && says("buffer is NULL"));
	CHECK(joulio_admin_buffer(reader, command, own, NULL) == -EINVAL && says("another device"));
	command[24] = 1; /* PRP1 */
	CHECK(joulio_admin_buffer(reader, command, buffer, NULL) == -EINVAL && says("PRP"));
	memset(command, 0, sizeof command);
	command[0] = 0x02; /* Get Log Page: SMART, 8192 bytes */
	command[4] = command[5] = command[6] = command[7] = 0xff;
	command[40] = 2;
	command[42] = 0xff;
	command[43] = 0x07;
	memset(bytes, 0xff, 8192);
	CHECK(joulio_admin_buffer(reader, command, buffer, NULL) == 0);
	CHECK(bytes[1] == 300 % 256 && bytes[2] == 300 / 256); /* kelvins */
	command[43] = 0x0f; /* 16384 bytes */
	CHECK(joulio_admin_buffer(reader, command, buffer, NULL) == -EINVAL && says("shorter"));
	command[43] = 0x07;
	command[40] = 0xee;
	CHECK(joulio_admin_buffer(reader, command, buffer, NULL) == -EIO && says("admin command"));
	/* In flight. */
	CHECK(joulio_read(queue, 0, 1, buffer, 7) == 0);
	CHECK(joulio_admin_buffer(reader, command, buffer, NULL) == -EBUSY && says("in flight"));
	CHECK(ended(queue, 7) == 0);
	memset(command, 0, sizeof command);
	command[0] = 0x11; /* Firmware Image Download: 8192 bytes */
	command[40] = 0xff;
	command[41] = 0x07;
	CHECK(joulio_admin_buffer(reader, command, buffer, NULL) == -EPERM && says("JOULIO_ALLOW_WRITE"));
	CHECK(joulio_admin_buffer(writer, command, own, NULL) == -EIO && *joulio_error());
	command[0] = 0x80; /* Format NVM */
	CHECK(joulio_admin_buffer(writer, command, own, NULL) == -EPERM && says("formats"));
	command[0] = 0x18; /* Keep Alive: no data */
	CHECK(joulio_admin_buffer(writer, command, own, NULL) == -EINVAL && *joulio_error());
	/* After all that the buffers are the caller's. */
	CHECK(joulio_buffer_data(buffer) == bytes && joulio_queue_destroy(queue) == 0);
	CHECK(joulio_buffer_free(buffer) == 0 && joulio_buffer_free(own) == 0);
	CHECK(joulio_close(reader) == 0 && joulio_close(writer) == 0);
}

int main(void)
{
	admin();
	admin_buffer();
	return ended_badly();
}
