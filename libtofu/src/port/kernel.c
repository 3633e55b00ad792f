/* SPDX-License-Identifier: MIT */
/*
 * The kernel port: command queues and barrier gates of /dev/tofu0, mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/machine.h"
#include "port/debug.h"
#include "port/host.h"
#include "port/kick.h"

#define KERNEL_MACHINE "/sys/class/tofu/tofu0/machine"
#define KERNEL_MACHINE_MAX 16

/*
 * A kick from a poll is a trap. An engine that asks for it needs this
 * processor; a few polls before the kick are cheap in comparison.
 */
#define KERNEL_POLL_PATIENCE 4

/*
 * Where no kick is ever wanted, need_kick is read only to notice a device that is
 * gone.
 */
#define KERNEL_GONE_PATIENCE (1U << 22)

static unsigned int kernel_poll_patience(bool direct)
{
	return direct ? KERNEL_GONE_PATIENCE : KERNEL_POLL_PATIENCE;
}

/**
 * struct kernel_port
 * @dev:     the public part
 * @fd:      the device
 * @cq_fd, @gates_fd: files of queues, and of gates by their channel, or -1; for
 *           a forked child, which may have been forked while another thread
 *           changed any of them
 * @machine: name, once it was asked for
 */
struct kernel_port {
	struct tofu_port_dev dev;
	int fd;
	int cq_fd[TOFU_TNIS_MAX][TOFU_CQS_PER_TNI];
	int gates_fd[TOFU_TNIS_MAX][TOFU_CHANNELS];
	char machine[KERNEL_MACHINE_MAX];
};

/**
 * struct kernel_cq
 * @base: the part that the queue layer uses
 * @fd:   the CQ; the last reference to it once nothing is mapped
 * @map:  addresses of the mappings
 * @length: of each mapping
 * @watch_length: of the mapping @base.watch
 */
struct kernel_cq {
	struct tofu_port_cq base;
	int fd;
	void *map[TOFU_MAPS];
	size_t length[TOFU_MAPS];
	size_t watch_length;
};

/**
 * struct kernel_gates
 * @base: the part that the gates' users see
 * @fd:   the gates; the last reference to them once nothing is mapped
 * @map, @length: the mappings, as in struct kernel_cq
 */
struct kernel_gates {
	struct tofu_port_gates base;
	int fd;
	void *map[TOFU_GATES_MAPS];
	size_t length[TOFU_GATES_MAPS];
};

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

/* A page has a word for marks in virtual time; else a store there traps. */
static uint64_t *kernel_mark(char *kick, bool direct)
{
	return direct ? (uint64_t *)(void *)(kick + TOFU_KICK_MARK) : NULL;
}

static void kernel_unmap(int count, void **at, const size_t *length)
{
	for (int i = 0; i < count; i++)
		if (at[i])
			munmap(at[i], length[i]);
}

/* Maps all regions of a file. After an error some of them are mapped. */
static int kernel_map(int fd, int count, const struct tofu_map *map, void **at,
		      size_t *length)
{
	for (int i = 0; i < count; i++) {
		void *new = mmap(NULL, map[i].length, PROT_READ | PROT_WRITE,
				 MAP_SHARED, fd, (off_t)map[i].key);

		if (new == MAP_FAILED)
			return -errno;
		at[i] = new;
		length[i] = map[i].length;
	}
	return 0;
}

static void file_set(int *file, int fd)
{
	__atomic_store_n(file, fd, __ATOMIC_RELAXED);
}

static int kernel_cq_create(struct tofu_port_dev *dev, unsigned int tni,
			    uint32_t flags, unsigned int toq_code,
			    unsigned int mrq_code, struct tofu_port_cq **cq)
{
	struct kernel_port *port = (struct kernel_port *)dev;
	struct tofu_ioc_cq_create create = {
		.size = sizeof(create),
		.flags = flags,
		.tni = tni,
		.cq = TOFU_CQ_ANY,
		.toq_code = toq_code,
		.mrq_code = mrq_code,
	};
	struct kernel_cq *new = calloc(1, sizeof(*new));
	bool direct = dev->info.caps & TOFU_INFO_DIRECT;
	int err;

	if (!new)
		return -ENOMEM;
	err = kernel_ioctl(port->fd, TOFU_IOC_CQ_CREATE, &create);
	if (err)
		goto err_free;
	new->fd = create.fd;
	err = kernel_map(new->fd, TOFU_MAPS, create.map, new->map, new->length);
	if (err)
		goto err_unmap;
	new->base = (struct tofu_port_cq){
		.port = dev,
		.tni = tni,
		.cq = create.cq,
		.page = new->map[TOFU_MAP_PAGE],
		.toq = new->map[TOFU_MAP_TOQ],
		.tcq = new->map[TOFU_MAP_TCQ],
		.mrq = new->map[TOFU_MAP_MRQ],
		.kick = new->map[TOFU_MAP_KICK],
		.mark = kernel_mark(new->map[TOFU_MAP_KICK], direct),
		.poll_patience = kernel_poll_patience(direct),
		.direct = direct,
		.kicks = !direct || dev->store_ns,
	};
	file_set(&port->cq_fd[tni][create.cq], new->fd);
	*cq = &new->base;
	return 0;

err_unmap:
	kernel_unmap(TOFU_MAPS, new->map, new->length);
	close(new->fd);
err_free:
	free(new);
	return err;
}

static void kernel_cq_destroy(struct tofu_port_cq *base)
{
	struct kernel_port *port = (struct kernel_port *)base->port;
	struct kernel_cq *cq = (struct kernel_cq *)base;

	file_set(&port->cq_fd[base->tni][base->cq], -1);
	kernel_unmap(TOFU_MAPS, cq->map, cq->length);
	if (cq->base.watch)
		munmap((void *)(uintptr_t)cq->base.watch, cq->watch_length);
	close(cq->fd);
	free(cq);
}

/* Drivers before TOFU_IOC_WATCH do not know it. */
static int kernel_watch(struct kernel_cq *cq)
{
	struct tofu_ioc_watch watch = { .size = sizeof(watch) };
	int err = kernel_ioctl(cq->fd, TOFU_IOC_WATCH, &watch);
	void *at;

	if (err)
		return err == -ENOTTY ? -EOPNOTSUPP : err;
	at = mmap(NULL, watch.map.length, PROT_READ, MAP_SHARED, cq->fd,
		  (off_t)watch.map.key);
	if (at == MAP_FAILED)
		return -errno;
	cq->watch_length = watch.map.length;
	/* Other users of the queue look without a lock. */
	__atomic_store_n(&cq->base.watch, at, __ATOMIC_RELEASE);
	return 0;
}

static int kernel_mem_reg(struct tofu_port_cq *base, void *addr, size_t length,
			  uint32_t flags, uint32_t *stag, uint64_t *offset)
{
	struct kernel_cq *cq = (struct kernel_cq *)base;
	struct tofu_ioc_mem_reg reg = {
		.size = sizeof(reg),
		.flags = flags & ~TOFU_MEM_BLANK,
		.addr = (uintptr_t)addr,
		.length = length,
		.stag = *stag,
	};
	int err = 0;

	if (flags & TOFU_MEM_WATCH && !base->watch)
		err = kernel_watch(cq);
	if (!err)
		err = kernel_ioctl(cq->fd, TOFU_IOC_MEM_REG, &reg);
	if (err)
		return err;
	*stag = reg.stag;
	*offset = reg.offset;
	return 0;
}

static int kernel_mem_dereg(struct tofu_port_cq *base, uint32_t stag)
{
	struct kernel_cq *cq = (struct kernel_cq *)base;
	struct tofu_ioc_mem_dereg dereg = {
		.size = sizeof(dereg),
		.stag = stag,
	};

	return kernel_ioctl(cq->fd, TOFU_IOC_MEM_DEREG, &dereg);
}

/* ---- Barrier gates ---- */

static int kernel_gates_create(struct tofu_port_dev *dev, unsigned int tni,
			       unsigned int count,
			       struct tofu_port_gates **gates)
{
	struct kernel_port *port = (struct kernel_port *)dev;
	struct tofu_ioc_gates_create create = {
		.size = sizeof(create),
		.tni = tni,
		.count = count,
	};
	struct kernel_gates *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	err = kernel_ioctl(port->fd, TOFU_IOC_GATES_CREATE, &create);
	if (err)
		goto err_free;
	new->fd = create.fd;
	err = kernel_map(new->fd, TOFU_GATES_MAPS, create.map, new->map,
			 new->length);
	if (err)
		goto err_unmap;
	new->base = (struct tofu_port_gates){
		.port = dev,
		.tni = tni,
		.count = count,
		.channel = new->map[TOFU_GATES_MAP_CHANNEL],
		.kick = new->map[TOFU_GATES_MAP_START],
		.poll_patience = kernel_poll_patience(dev->info.caps &
						      TOFU_INFO_DIRECT),
	};
	memcpy(new->base.gate, create.gate, sizeof(create.gate));
	file_set(&port->gates_fd[tni][create.gate[0]], new->fd);
	*gates = &new->base;
	return 0;

err_unmap:
	kernel_unmap(TOFU_GATES_MAPS, new->map, new->length);
	close(new->fd);
err_free:
	free(new);
	return err;
}

/* The page of a device that is gone must not be touched any more. */
static bool kernel_alive(const struct kernel_port *port)
{
	struct tofu_ioc_info info = { .size = sizeof(info) };

	return !kernel_ioctl(port->fd, TOFU_IOC_INFO, &info);
}

static void kernel_gates_destroy(struct tofu_port_gates *base)
{
	struct kernel_port *port = (struct kernel_port *)base->port;
	struct kernel_gates *gates = (struct kernel_gates *)base;

	file_set(&port->gates_fd[base->tni][base->gate[0]], -1);
	/* Signals of an abandoned barrier are not for the next owner. */
	if (kernel_alive(port))
		tofu_port_channel_poll(base);
	kernel_unmap(TOFU_GATES_MAPS, gates->map, gates->length);
	close(gates->fd);
	free(gates);
}

static int kernel_gate_set(struct tofu_port_gates *base, unsigned int index,
			   const struct tofu_port_links *links)
{
	struct kernel_gates *gates = (struct kernel_gates *)base;
	struct tofu_ioc_gate_set set = {
		.size = sizeof(set),
		.index = index,
		.src_lcl = links->src_lcl,
		.src_rmt = links->src_rmt,
		.dst_lcl = links->dst_lcl,
		.dst_rmt = links->dst_rmt,
	};

	return kernel_ioctl(gates->fd, TOFU_IOC_GATE_SET, &set);
}

/* ---- The port ---- */

static uint64_t kernel_now(struct tofu_port_dev *dev)
{
	(void)dev;
	return tofu_host_now();
}

static void kernel_machine_read(struct kernel_port *port)
{
	int fd = open(KERNEL_MACHINE, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = -1;

	if (fd >= 0) {
		bytes = read(fd, port->machine, sizeof(port->machine) - 1);
		close(fd);
	}
	port->machine[bytes > 0 ? bytes : 0] = '\0';
	port->machine[strcspn(port->machine, "\n")] = '\0';
	port->dev.machine = port->machine;
}

/* Pages with registers mean virtual time. */
static void kernel_store_set(struct kernel_port *port)
{
	const struct tofu_preset *machine;

	if (!(port->dev.info.caps & TOFU_INFO_DIRECT))
		return;
	kernel_machine_read(port);
	machine = tofu_preset_find(port->machine);
	if (machine)
		port->dev.store_ns = machine->store_ns;
}

/* The device has the clock that all nodes share; the system's began at boot. */
static bool kernel_shared(struct tofu_port_dev *dev, uint64_t *now)
{
	struct kernel_port *port = (struct kernel_port *)dev;
	struct tofu_ioc_time time = { .size = sizeof(time) };

	if (!(dev->info.caps & TOFU_INFO_DIRECT) ||
	    kernel_ioctl(port->fd, TOFU_IOC_TIME, &time) || !time.time)
		return false;
	*now = time.time;
	return true;
}

/* In virtual time no one else wants the processor, and a syscall costs. */
static unsigned int kernel_wait(struct tofu_port_dev *dev, unsigned int turn)
{
	return dev->info.caps & TOFU_INFO_DIRECT ? 1 : tofu_host_wait(turn);
}

static void files_close(int *file, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (file[i] >= 0)
			close(file[i]);
}

/*
 * The mappings are not inherited. With the last file the queues would end with
 * the child, and not with their process.
 */
static void kernel_forked(struct tofu_port_dev *dev)
{
	struct kernel_port *port = (struct kernel_port *)dev;

	for (unsigned int tni = 0; tni < TOFU_TNIS_MAX; tni++) {
		files_close(port->cq_fd[tni], TOFU_CQS_PER_TNI);
		files_close(port->gates_fd[tni], TOFU_CHANNELS);
	}
	close(port->fd);
}

static void kernel_close(struct tofu_port_dev *dev)
{
	struct kernel_port *port = (struct kernel_port *)dev;

	close(port->fd);
	free(port);
}

static const struct tofu_port_ops kernel_ops = {
	.cq_create = kernel_cq_create,
	.cq_destroy = kernel_cq_destroy,
	.mem_reg = kernel_mem_reg,
	.mem_dereg = kernel_mem_dereg,
	.gates_create = kernel_gates_create,
	.gates_destroy = kernel_gates_destroy,
	.gate_set = kernel_gate_set,
	.now = kernel_now,
	.shared = kernel_shared,
	.wait = kernel_wait,
	.forked = kernel_forked,
	.close = kernel_close,
};

int tofu_kernel_open(struct tofu_port_dev **dev)
{
	struct kernel_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	memset(port->cq_fd, -1, sizeof(port->cq_fd));
	memset(port->gates_fd, -1, sizeof(port->gates_fd));
	port->fd = open(TOFU_KERNEL_DEVICE, O_RDWR | O_CLOEXEC);
	if (port->fd < 0) {
		err = -errno;
		tofu_debug("%s: %s", TOFU_KERNEL_DEVICE, strerror(errno));
		goto err_free;
	}
	port->dev.ops = &kernel_ops;
	port->dev.info.size = sizeof(port->dev.info);
	err = kernel_ioctl(port->fd, TOFU_IOC_INFO, &port->dev.info);
	if (err) {
		tofu_debug("%s: TOFU_IOC_INFO: %s", TOFU_KERNEL_DEVICE,
			   strerror(-err));
		goto err_close;
	}
	kernel_store_set(port);
	*dev = &port->dev;
	return 0;

err_close:
	close(port->fd);
err_free:
	free(port);
	return err;
}
