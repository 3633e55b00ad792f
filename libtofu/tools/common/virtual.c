// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tofu/ioctl.h>

#include "error.h"
#include "stats.h"
#include "virtual.h"

#define DEVICE "/dev/tofu0"
#define FILES "/sys/class/tofu/tofu0"
/* Two readings of both clocks: so far their distances may differ. */
#define SLACK_NS 16

static struct tofu_time_info info;
static bool found;
static bool runs;

bool tofu_virtual(void)
{
	return found;
}

bool tofu_virtual_runs(void)
{
	return runs;
}

/*
 * In virtual time an instruction takes a nanosecond, and the processor's
 * counter counts those. Where it does not, it is no use as a clock.
 */
static bool counts_ns(const struct tofu_ioc_time *a,
		      const struct tofu_ioc_time *b)
{
	int64_t error = (int64_t)(b->time - a->time) -
			(int64_t)(b->cycles - a->cycles);

	return b->time > a->time && error <= SLACK_NS && error >= -SLACK_NS;
}

static bool time_ask(int fd, struct tofu_ioc_time *time)
{
	*time = (struct tofu_ioc_time){ .size = sizeof(*time) };
	return !ioctl(fd, TOFU_IOC_TIME, time) && time->time;
}

static bool is_direct(int fd)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };

	return !ioctl(fd, TOFU_IOC_INFO, &info) &&
	       info.caps & TOFU_INFO_DIRECT;
}

/* A virtual machine's, by the processor's counter: the library's is slower. */
static bool device_find(void)
{
	const char *port = getenv("TOFU_PORT");
	struct tofu_ioc_time a, b;
	int fd;

	/* Another port does not use the device, even if there is one. */
	if (port && strcmp(port, "kernel"))
		return false;
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	runs = is_direct(fd) && time_ask(fd, &a) && time_ask(fd, &b) &&
	       counts_ns(&a, &b) &&
	       tofu_now_cycles((int64_t)(b.time - b.cycles));
	close(fd);
	return runs;
}

bool tofu_virtual_find(void)
{
	if (tofu_query_time(&info))
		return false;
	if (info.is_virtual && info.in_calls) {
		tofu_now_by(tofu_time);
		found = true;
	} else {
		found = device_find();
	}
	return found;
}

bool tofu_virtual_machine(char name[TOFU_VIRTUAL_MACHINE])
{
	memcpy(name, info.machine, TOFU_VIRTUAL_MACHINE);
	return info.is_virtual && *name;
}

/* ---- Stamps ---- */

static const char *const names[TOFU_CQ_STAMPS] = {
	[TOFU_CQ_TX_DOORBELL] = "tx_doorbell",
	[TOFU_CQ_TX_ENGINE] = "tx_engine",
	[TOFU_CQ_TX_WIRE] = "tx_wire",
	[TOFU_CQ_RX_WIRE] = "rx_wire",
	[TOFU_CQ_RX_ENGINE] = "rx_engine",
	[TOFU_CQ_RX_NOTICE] = "rx_notice",
};

int tofu_stamps_open(struct tofu_stamps *stamps, utofu_vcq_hdl_t vcq,
		     unsigned int tni, unsigned int cq, char **why)
{
	char path[128];

	stamps->vcq = vcq;
	for (int i = 0; i < TOFU_CQ_STAMPS; i++)
		stamps->fd[i] = -1;
	for (int i = 0; runs && i < TOFU_CQ_STAMPS; i++) {
		snprintf(path, sizeof(path), FILES "/tni%u_cq%u/%s", tni, cq,
			 names[i]);
		stamps->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (stamps->fd[i] < 0) {
			int err = -errno;

			tofu_error_say(why, "%s: %s", path, strerror(-err));
			return err;
		}
	}
	return 0;
}

void tofu_stamps_close(struct tofu_stamps *stamps)
{
	for (int i = 0; i < TOFU_CQ_STAMPS; i++)
		if (stamps->fd[i] >= 0)
			close(stamps->fd[i]);
}

uint64_t tofu_stamp(const struct tofu_stamps *stamps, enum tofu_cq_stamp stamp)
{
	uint64_t all[TOFU_STAMPS];
	char text[32] = "";

	if (!runs)
		return tofu_query_stamps(stamps->vcq, all) ? 0 : all[stamp];
	if (pread(stamps->fd[stamp], text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}
