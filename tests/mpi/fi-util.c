/* SPDX-License-Identifier: MIT */
#include "fi-util.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tofu/boot.h>

/* A wait that takes longer has failed; when a test has, there is less time. */
#define WAIT_MS 30000
#define WAIT_AFTER_FAILURE_MS 5000
#define BOOT_SECONDS 60
#define PROGRAM_SECONDS 90

#define ROOMS_MAX 64

int rank, ranks, left, right;
struct fi_info *info;
struct fid_fabric *fabric;
struct fid_domain *domain;

static struct tofu_boot *boot;
static char why[TOFU_BOOT_WHY];
static struct port *ports;
static bool over;
static unsigned int limit_ms = WAIT_MS;
static void *rooms[ROOMS_MAX];
static int room_count;

/* ---- All ranks ---- */

enum stage { WITHIN,
	     PASSED,
	     FAILED };

/*
 * Every exchange is one of these, also that at the end of a test: whoever is
 * still within one that has failed elsewhere learns it and leaves it, too.
 */
struct card {
	uint32_t stage;
	uint8_t name[NAME_BYTES];
};

static struct card cards[RANKS_MAX];

static bool exchange(enum stage stage, const uint8_t name[])
{
	struct card own = { .stage = stage };
	bool same = true;

	if (name)
		memcpy(own.name, name, NAME_BYTES);
	if (tofu_boot_allgather(boot, &own, sizeof(own), cards)) {
		fprintf(stderr, "# rank %d: %s\n", rank, why);
		exit(1);
	}
	for (int i = 0; i < ranks; i++)
		same = same && cards[i].stage == stage;
	return same;
}

static bool exchange_within(const uint8_t name[])
{
	bool same = exchange(WITHIN, name);

	over = over || !same;
	return same;
}

bool meet(void)
{
	return exchange_within(NULL);
}

bool verdict(bool failed)
{
	bool passed = !over && exchange(failed ? FAILED : PASSED, NULL) && !failed;

	over = false;
	if (!passed)
		limit_ms = WAIT_AFTER_FAILURE_MS;
	return passed;
}

/* ---- Ports ---- */

int queue_open(enum fi_cq_format format, size_t size, struct fid_cq **queue)
{
	struct fi_cq_attr attr = { .size = size, .format = format };

	return fi_cq_open(domain, &attr, queue, NULL);
}

static int port_queue_open(enum fi_wait_obj wait, struct fid_cq **queue)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait };

	return fi_cq_open(domain, &attr, queue, NULL);
}

int av_open(enum fi_av_type type, struct fid_av **av)
{
	struct fi_av_attr attr = { .type = type };

	return fi_av_open(domain, &attr, av, NULL);
}

static int port_bind(struct port *port, const struct options *options)
{
	size_t least = options->min_receive;

	TEST(!fi_ep_bind(port->ep, &port->av->fid, 0));
	TEST(!fi_ep_bind(port->ep, &port->sends->fid, FI_TRANSMIT | options->send_flags));
	TEST(!fi_ep_bind(port->ep, &port->receives->fid, FI_RECV | options->recv_flags));
	if (least)
		TEST(!fi_setopt(&port->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				&least, sizeof(least)));
	for (int i = 0; i < COUNTERS_MAX && options->counter[i]; i++)
		TEST(!fi_ep_bind(port->ep, &options->counter[i]->fid, options->counted[i]));
	TEST(!fi_enable(port->ep));
	return 0;
}

static int endpoint_open(struct port *port, const struct options *options)
{
	struct fi_info *own = fi_dupinfo(info);
	int ret;

	TEST(own);
	own->tx_attr->op_flags = options->operation;
	ret = fi_endpoint(domain, own, &port->ep, NULL);
	fi_freeinfo(own);
	TEST(!ret);
	return 0;
}

static int port_meet(struct port *port, bool empty)
{
	size_t bytes = NAME_BYTES;

	TEST(!fi_getname(&port->ep->fid, port->name, &bytes));
	TEST(bytes == NAME_BYTES);
	TEST(exchange_within(port->name));
	for (int i = 0; i < ranks; i++)
		memcpy(port->names[i], cards[i].name, NAME_BYTES);
	if (!empty)
		TEST(fi_av_insert(port->av, port->names, (size_t)ranks, port->peer, 0,
				  NULL) == ranks);
	TEST(meet());
	return 0;
}

int port_open(struct port *port, const struct options *options)
{
	static const struct options defaults;

	if (!options)
		options = &defaults;
	memset(port, 0, sizeof(*port));
	port->next = ports;
	ports = port;
	TEST(!av_open(options->map ? FI_AV_MAP : FI_AV_TABLE, &port->av));
	TEST(!port_queue_open(options->wait, &port->receives));
	port->sends = port->receives;
	if (options->two_queues)
		TEST(!port_queue_open(options->wait, &port->sends));
	RUN(endpoint_open(port, options));
	RUN(port_bind(port, options));
	return port_meet(port, options->empty);
}

static bool closed(struct fid *fid)
{
	return !fid || !fi_close(fid);
}

static bool port_free(struct port *port)
{
	struct fid_cq *other = port->sends == port->receives ? NULL : port->sends;
	bool all = closed(port->ep ? &port->ep->fid : NULL);

	all = closed(port->receives ? &port->receives->fid : NULL) && all;
	all = closed(other ? &other->fid : NULL) && all;
	return closed(port->av ? &port->av->fid : NULL) && all;
}

int port_close(struct port *port)
{
	struct port **at = &ports;

	TEST(meet());
	while (*at != port)
		at = &(*at)->next;
	*at = port->next;
	TEST(port_free(port));
	return 0;
}

void ports_close(void)
{
	while (ports) {
		struct port *port = ports;

		ports = port->next;
		if (!port_free(port))
			fprintf(stderr, "# rank %d: what a test has left does not close\n",
				rank);
	}
}

/* ---- Waiting ---- */

uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool late(uint64_t since)
{
	return clock_ms() - since > limit_ms;
}

static void note(struct port *port, struct fid_cq *queue,
		 const struct fi_cq_tagged_entry *entry, fi_addr_t from,
		 const struct fi_cq_err_entry *error)
{
	struct done *done = entry->op_context;

	port->entries++;
	port->errors += !!error;
	if (!done) {
		port->strays++;
		return;
	}
	done->times++;
	done->sequence = port->entries - 1;
	done->queue = queue;
	done->entry = *entry;
	done->from = from;
	done->error = error ? error->err : 0;
	done->rest = error ? error->olen : 0;
}

static void note_error(struct port *port, struct fid_cq *queue)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;

	if (fi_cq_readerr(queue, &error, 0) != 1)
		return;
	entry = (struct fi_cq_tagged_entry){
		.op_context = error.op_context,
		.flags = error.flags,
		.len = error.len,
		.buf = error.buf,
		.data = error.data,
		.tag = error.tag,
	};
	note(port, queue, &entry, FI_ADDR_NOTAVAIL, &error);
}

static void queue_poll(struct port *port, struct fid_cq *queue)
{
	struct fi_cq_tagged_entry entries[16];
	fi_addr_t from[16];
	ssize_t got = fi_cq_readfrom(queue, entries, 16, from);

	if (got == -FI_EAVAIL)
		note_error(port, queue);
	for (ssize_t i = 0; i < got; i++)
		note(port, queue, &entries[i], from[i], NULL);
	if (got <= 0)
		sched_yield();
}

static void port_poll(struct port *port)
{
	if (port->receives)
		queue_poll(port, port->receives);
	if (port->sends != port->receives)
		queue_poll(port, port->sends);
}

void poll_all(void)
{
	for (struct port *port = ports; port; port = port->next)
		port_poll(port);
}

void linger(unsigned int milliseconds)
{
	uint64_t since = clock_ms();

	do {
		poll_all();
	} while (clock_ms() - since < milliseconds);
}

bool ended(const struct done done[], int count)
{
	uint64_t since = clock_ms();
	int i = 0;

	for (;;) {
		while (i < count && done[i].times)
			i++;
		if (i == count)
			return true;
		if (late(since))
			break;
		poll_all();
	}
	fprintf(stderr, "# rank %d: operation %d of %d does not end\n", rank, i, count);
	return false;
}

bool succeeded(const struct done done[], int count)
{
	if (!ended(done, count))
		return false;
	for (int i = 0; i < count; i++)
		if (done[i].error || done[i].times != 1) {
			fprintf(stderr, "# rank %d: operation %d: %d entries, %s\n", rank,
				i, done[i].times, fi_strerror(done[i].error));
			return false;
		}
	return true;
}

bool failed_with(const struct done *done, int error)
{
	if (!ended(done, 1))
		return false;
	if (done->error == error && done->times == 1)
		return true;
	fprintf(stderr, "# rank %d: %d entries, %s\n", rank, done->times,
		fi_strerror(done->error));
	return false;
}

void renew(struct done *done)
{
	struct fi_context context = done->context;

	memset(done, 0, sizeof(*done));
	done->context = context;
}

/* ---- Operations ---- */

static fi_addr_t address(const struct port *port, int of)
{
	return of == ANY ? FI_ADDR_UNSPEC : port->peer[of];
}

ssize_t send_tagged(struct port *port, int to, const void *from, size_t bytes,
		    uint64_t tag, struct done *done)
{
	return RETRY(fi_tsend(port->ep, from, bytes, NULL, address(port, to), tag,
				    done));
}

ssize_t receive_tagged(struct port *port, int from, void *to, size_t bytes,
		       uint64_t tag, uint64_t ignore, struct done *done)
{
	return RETRY(fi_trecv(port->ep, to, bytes, NULL, address(port, from), tag,
				    ignore, done));
}

ssize_t send_plain(struct port *port, int to, const void *from, size_t bytes,
		   struct done *done)
{
	return RETRY(fi_send(port->ep, from, bytes, NULL, address(port, to), done));
}

ssize_t receive_plain(struct port *port, int from, void *to, size_t bytes,
		      struct done *done)
{
	return RETRY(fi_recv(port->ep, to, bytes, NULL, address(port, from), done));
}

ssize_t send_flagged(struct port *port, int to, const void *from, size_t bytes,
		     uint64_t tag, uint64_t flags, struct done *done)
{
	struct iovec piece = { .iov_base = (void *)(uintptr_t)from, .iov_len = bytes };
	struct fi_msg_tagged message = {
		.msg_iov = &piece,
		.iov_count = 1,
		.addr = address(port, to),
		.tag = tag,
		.context = done,
	};

	return RETRY(fi_tsendmsg(port->ep, &message, flags));
}

ssize_t receive_flagged(struct port *port, int from, void *to, size_t bytes,
			uint64_t tag, uint64_t ignore, uint64_t flags,
			struct done *done)
{
	struct iovec piece = { .iov_base = to, .iov_len = bytes };
	struct fi_msg_tagged message = {
		.msg_iov = to ? &piece : NULL,
		.iov_count = !!to,
		.addr = address(port, from),
		.tag = tag,
		.ignore = ignore,
		.context = done,
	};

	return RETRY(fi_trecvmsg(port->ep, &message, flags));
}

/* ---- Data ---- */

static uint8_t byte_of(size_t at, unsigned int seed)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + (at >> 16) * 5 + seed * 31 + (seed >> 8));
}

void fill(void *bytes, size_t count, unsigned int seed)
{
	uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		byte[i] = byte_of(i, seed);
}

bool filled(const void *bytes, size_t count, unsigned int seed)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		if (byte[i] != byte_of(i, seed)) {
			fprintf(stderr, "# rank %d: byte %zu of %zu is %x, not %x\n", rank,
				i, count, byte[i], byte_of(i, seed));
			return false;
		}
	return true;
}

bool untouched(const void *bytes, size_t count, uint8_t value)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < count; i++)
		if (byte[i] != value)
			return false;
	return true;
}

void *room(size_t bytes)
{
	void *memory = calloc(1, bytes ? bytes : 1);

	if (!memory || room_count == ROOMS_MAX) {
		fprintf(stderr, "# rank %d: no room for %zu bytes\n", rank, bytes);
		exit(1);
	}
	rooms[room_count++] = memory;
	return memory;
}

void rooms_free(void)
{
	while (room_count)
		free(rooms[--room_count]);
}

/* ---- Running them ---- */

static int begin(void)
{
	struct fi_info *hints = fi_allocinfo();

	alarm(PROGRAM_SECONDS);
	TEST(hints);
	hints->fabric_attr->prov_name = strdup("tofu");
	hints->ep_attr->type = FI_EP_RDM;
	TEST(!tofu_boot_join(BOOT_SECONDS, why, &boot));
	rank = tofu_boot_rank(boot);
	ranks = tofu_boot_size(boot);
	TEST(ranks > 1 && ranks <= RANKS_MAX);
	left = (rank + ranks - 1) % ranks;
	right = (rank + 1) % ranks;
	TEST(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	TEST(!fi_fabric(info->fabric_attr, &fabric, NULL));
	TEST(!fi_domain(fabric, info, &domain, NULL));
	return 0;
}

static int end(void)
{
	TEST(meet());
	TEST(!fi_close(&domain->fid));
	TEST(!fi_close(&fabric->fid));
	fi_freeinfo(info);
	TEST(!tofu_boot_leave(boot));
	return 0;
}

static int run_suite(const struct suite *suite, int before)
{
	int failed = 0;

	for (int i = 0; i < suite->count; i++) {
		uint64_t since = clock_ms();
		bool passed = verdict(suite->tests[i].run() != 0);

		ports_close();
		rooms_free();
		failed += !passed;
		if (!rank)
			printf("%sok %d %s\n", passed ? "" : "not ", before + i + 1,
			       suite->tests[i].name);
		if (!rank && getenv("TEST_TIMES"))
			printf("# %u ms\n", (unsigned int)(clock_ms() - since));
		fflush(stdout);
	}
	return failed;
}

int test_run(const struct suite *const suites[], int suite_count)
{
	int count = 0, failed = 0, before = 0;

	if (begin())
		return 1;
	for (int i = 0; i < suite_count; i++)
		count += suites[i]->count;
	if (!rank)
		printf("TAP version 13\n1..%d\n", count);
	for (int i = 0; i < suite_count; i++) {
		failed += run_suite(suites[i], before);
		before += suites[i]->count;
	}
	return end() || failed ? 1 : 0;
}
