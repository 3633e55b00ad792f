/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider from the inside: libfabric's objects over endpoints of
 * <tofu/p2p.h>. Documentation/library/libfabric.rst says what is supported.
 *
 * A message with a tag has bit 63 clear, one without has TOFU_FI_UNTAGGED for a
 * tag: one matching does for both.
 *
 * Calls of libfabric have the provider's lock if the program wants that of their
 * domain; functions with this header's names have it already, and return negative
 * FI_E*.
 *
 * May include: libfabric's headers, <tofu/…>, <utofu.h>
 */
#ifndef TOFU_FI_PROVIDER_H
#define TOFU_FI_PROVIDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <tofu/boot.h>
#include <tofu/error.h>
#include <tofu/job.h>
#include <tofu/p2p.h>

#define TOFU_FI_NAME "tofu"

/* The tag of a message without one, and the tags of others */
#define TOFU_FI_UNTAGGED (1ULL << 63)
#define TOFU_FI_TAGS (TOFU_FI_UNTAGGED - 1)

/* Longest message that may be injected, pieces of a message, immediate data */
#define TOFU_FI_INJECT 256
#define TOFU_FI_IOV 8
#define TOFU_FI_DATA sizeof(uint32_t)

/* Messages that may be under way; there is no limit */
#define TOFU_FI_SIZE 65536

/* Messages; memory of others; atomics, where the machine has them */
#define TOFU_FI_MESSAGES                                                         \
	(FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_SOURCE | \
	 FI_MULTI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TOFU_FI_RMA \
	(FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define TOFU_FI_ATOMIC ((TOFU_FI_RMA & ~FI_RMA) | FI_ATOMIC)

extern struct fi_provider tofu_fi_provider;

/* tofu_fi_warn - tell the user, if FI_LOG_LEVEL wants that */
#define tofu_fi_warn(subsystem, ...) \
	FI_WARN(&tofu_fi_provider, subsystem, __VA_ARGS__)

/* ---- Addresses ---- */

#define TOFU_FI_FORMAT (FI_PROV_SPECIFIC | 0x746f6675)
#define TOFU_FI_MAGIC 0x55464f54

/**
 * struct tofu_fi_name - the address of an endpoint
 * @magic:    TOFU_FI_MAGIC
 * @ranks:    processes of the job
 * @rank:     of its process
 * @endpoint: its number in the process
 */
struct tofu_fi_name {
	uint32_t magic;
	uint32_t ranks;
	uint32_t rank;
	uint32_t endpoint;
};

/* ---- Objects ---- */

/**
 * struct tofu_fi_bell - how an object tells that there is something to read
 * @fd:    an event descriptor for FI_WAIT_FD, or -1
 * @armed: the program may sleep until it is readable
 */
struct tofu_fi_bell {
	enum fi_wait_obj wait;
	int fd;
	bool armed;
};

/**
 * struct tofu_fi_domain - the interconnect, as a process has it
 * @job:   the processes
 * @tnis:  TNIs of a node
 * @armw:  there are remote atomics
 * @virtual_addresses: those of others' memory are the ones that it has there
 * @locks: several threads may use its objects at the same time
 * @users: objects that have not been closed
 * @eps:   endpoints that are enabled
 * @attendant: has them progress while a process manager's barrier waits
 * @said_gone: the user has been told of a process that is gone
 * @runner: thread that makes progress, where @runs, until @runner_stops; @others:
 *          in the list of domains that have one
 * @ended:  completions and counts so far
 */
struct tofu_fi_domain {
	struct fid_domain fid;
	struct tofu_job_info job;
	size_t tnis;
	bool armw;
	bool virtual_addresses;
	bool locks;
	unsigned int users;
	LIST_HEAD(, tofu_fi_ep) eps;
	struct tofu_attendant attendant;
	bool said_gone;
	pthread_t runner;
	bool runs;
	bool runner_stops;
	LIST_ENTRY(tofu_fi_domain) others;
	uint64_t ended;
};

/**
 * struct tofu_fi_peer - an entry of an address vector
 * @used: not removed
 * @slow: a message that was injected did not get away in time: do not wait
 */
struct tofu_fi_peer {
	uint32_t rank;
	uint32_t endpoint;
	bool used;
	bool slow;
};

/**
 * struct tofu_fi_av - an address vector: addresses are indices
 * @peer:    @count of them, room for @room
 * @of_rank: by rank: index + 1, or 0
 * @users:   endpoints
 */
struct tofu_fi_av {
	struct fid_av fid;
	struct tofu_fi_domain *domain;
	struct tofu_fi_peer *peer;
	size_t count;
	size_t room;
	size_t *of_rank;
	unsigned int users;
};

struct tofu_fi_ep;

/* Place of an endpoint in the list of a completion queue; without one, @ep is NULL */
struct tofu_fi_bound {
	struct tofu_fi_ep *ep;
	TAILQ_ENTRY(tofu_fi_bound)
	link;
};

/**
 * struct tofu_fi_entry - a completion; an error if @is.err
 * @source: sender of a received message
 */
struct tofu_fi_entry {
	struct fi_cq_err_entry is;
	fi_addr_t source;
};

/**
 * struct tofu_fi_cq - a completion queue
 * @bound: endpoints that it has completions of
 * @entry: ring of @room entries, a power of two; @count of them from @first on
 * @bell:  that there are some
 * @signalled: whoever waits comes back
 * @emptied: the last read has looked for more, and got all there were
 */
struct tofu_fi_cq {
	struct fid_cq fid;
	struct tofu_fi_domain *domain;
	enum fi_cq_format format;
	TAILQ_HEAD(, tofu_fi_bound)
	bound;
	struct tofu_fi_entry *entry;
	size_t room;
	size_t first;
	size_t count;
	struct tofu_fi_bell bell;
	bool signalled;
	bool emptied;
};

/**
 * struct tofu_fi_cntr - a counter of what has ended
 * @value, @errors: well, and otherwise
 * @users: endpoints
 * @bell:  that one of them has changed
 * @seen:  sum of both when the bell was armed
 */
struct tofu_fi_cntr {
	struct fid_cntr fid;
	struct tofu_fi_domain *domain;
	uint64_t value;
	uint64_t errors;
	unsigned int users;
	struct tofu_fi_bell bell;
	uint64_t seen;
};

/* What is counted, each by one counter of an endpoint */
#define TOFU_FI_COUNTED 4

/**
 * struct tofu_fi_mr - memory that others may touch
 * @stadd: its STADD, where it is @registered
 */
struct tofu_fi_mr {
	struct fid_mr fid;
	struct tofu_fi_domain *domain;
	utofu_stadd_t stadd;
	bool registered;
};

/**
 * struct tofu_fi_op - a message or access that somebody wants to hear of
 * @context, @flags, @buf: of its completion
 * @request: to cancel a receive
 * @quiet:   it completes only if it fails
 * @multi:   the buffer is for several messages, of which @used bytes have come
 * @multis:  in the endpoint's list of these
 * @source:  process that these have to be from, or TOFU_P2P_ANY_SOURCE
 * @stage:   the message in one piece, where the program has several
 * @iov, @count: these, of a receive or read
 * @room:    bytes of the buffer
 */
struct tofu_fi_op {
	void *context;
	uint64_t flags;
	void *buf;
	struct tofu_p2p_request *request;
	bool quiet;
	bool multi;
	uint32_t source;
	size_t used;
	char *stage;
	size_t room;
	size_t count;
	struct iovec iov[TOFU_FI_IOV];
	LIST_ENTRY(tofu_fi_op) link;
	TAILQ_ENTRY(tofu_fi_op) multis;
};

LIST_HEAD(tofu_fi_ops, tofu_fi_op);

/**
 * struct tofu_fi_claim - a message that waits for its receive
 * @context: of the call that has claimed it, and of the one that receives it
 */
struct tofu_fi_claim {
	void *context;
	struct tofu_p2p_claim *claim;
	LIST_ENTRY(tofu_fi_claim) link;
};

/**
 * struct tofu_fi_ep - an endpoint
 * @number:   in this process
 * @directed: receives may name their source
 * @rma:      it may touch memory of others
 * @tx, @rx:  completion queues of sends and receives, or NULL
 * @tx_selective, @rx_selective: only what has FI_COMPLETION completes
 * @tx_flags, @rx_flags: of calls that have none
 * @cntr:     counters, by the order of tofu_fi_counted(); may be NULL
 * @multi_min: bytes that a buffer for several messages has to have left
 * @haste:    how often injected messages did not get away in time, less the others
 * @p2p:      NULL before it is enabled, and then in the domain's list by @link
 * @broken:   it has been said that it is
 * @ops, @unused: what is under way, and what can be used again
 * @multis:   buffers for several messages, in the order of their calls
 */
struct tofu_fi_ep {
	struct fid_ep fid;
	struct tofu_fi_domain *domain;
	struct tofu_fi_av *av;
	struct tofu_fi_cq *tx;
	struct tofu_fi_cq *rx;
	struct tofu_fi_bound tx_bound;
	struct tofu_fi_bound rx_bound;
	unsigned int number;
	bool directed;
	bool rma;
	bool tx_selective;
	bool rx_selective;
	uint64_t tx_flags;
	uint64_t rx_flags;
	struct tofu_fi_cntr *cntr[TOFU_FI_COUNTED];
	size_t multi_min;
	unsigned int haste;
	struct tofu_p2p *p2p;
	LIST_ENTRY(tofu_fi_ep) link;
	bool broken;
	struct tofu_fi_ops ops;
	struct tofu_fi_ops unused;
	TAILQ_HEAD(, tofu_fi_op) multis;
	LIST_HEAD(, tofu_fi_claim) claims;
};

/* tofu_fi_counted - get what a counter of an endpoint counts, by its place */
static inline uint64_t tofu_fi_counted(size_t place)
{
	static const uint64_t counted[TOFU_FI_COUNTED] = { FI_SEND, FI_RECV,
							   FI_READ, FI_WRITE };

	return counted[place];
}

static inline int64_t tofu_fi_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* ---- domain.c ---- */

/*
 * One for all domains of a process, whose endpoints may share a command queue. A
 * thread that excludes others from all of them, as boots do, has it once for each.
 */
extern pthread_mutex_t tofu_fi_mutex;

static inline void tofu_fi_lock(struct tofu_fi_domain *domain)
{
	if (domain->locks)
		pthread_mutex_lock(&tofu_fi_mutex);
}

static inline void tofu_fi_unlock(struct tofu_fi_domain *domain)
{
	if (domain->locks)
		pthread_mutex_unlock(&tofu_fi_mutex);
}

/*
 * Objects that others use: threads may make and close those at the same time,
 * and calls that do have no lock.
 */
static inline void tofu_fi_hold(unsigned int *users)
{
	__atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
}

static inline void tofu_fi_drop(unsigned int *users)
{
	__atomic_sub_fetch(users, 1, __ATOMIC_RELEASE);
}

static inline bool tofu_fi_is_used(const unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

int tofu_fi_domain_open(struct fid_fabric *fabric, struct fi_info *info,
			struct fid_domain **domain, void *context);

/* tofu_fi_has_atomics - whether the machine has remote atomics; false without one */
bool tofu_fi_has_atomics(void);

/* ---- runner.c ---- */

/* tofu_fi_runner_start - have progress without calls, if that is not so already */
int tofu_fi_runner_start(struct tofu_fi_domain *domain);
void tofu_fi_runner_stop(struct tofu_fi_domain *domain);

/* ---- bell.c ---- */

/*
 * tofu_fi_bell_open - for such a wait object; FI_ENOSYS: there is none of the kind.
 * @domain: has progress without calls from now on, where there is a descriptor; or
 *          NULL
 */
int tofu_fi_bell_open(struct tofu_fi_bell *bell, struct tofu_fi_domain *domain,
		      enum fi_wait_obj wait);
void tofu_fi_bell_close(const struct tofu_fi_bell *bell);

/* tofu_fi_bell_control - fi_control() of the object */
int tofu_fi_bell_control(const struct tofu_fi_bell *bell, int command, void *arg);

/* tofu_fi_bell_ring - there is something; tofu_fi_bell_arm - from now on, tell */
void tofu_fi_bell_ring(struct tofu_fi_bell *bell);
void tofu_fi_bell_arm(struct tofu_fi_bell *bell);

/* tofu_fi_bell_wait - sleep until it rings, or for so many milliseconds; without lock */
void tofu_fi_bell_wait(const struct tofu_fi_bell *bell, int timeout);

/* ---- domain.c ---- */

/* What an object does not have */
int tofu_fi_no_bind(struct fid *fid, struct fid *bound, uint64_t flags);
int tofu_fi_no_control(struct fid *fid, int command, void *arg);
int tofu_fi_no_ops(struct fid *fid, const char *name, uint64_t flags,
		   void **ops, void *context);

/* ---- info.c ---- */

int tofu_fi_getinfo(uint32_t version, const char *node, const char *service,
		    uint64_t flags, const struct fi_info *hints,
		    struct fi_info **info);

/* ---- mr.c ---- */

extern struct fi_ops_mr tofu_fi_mr_ops;

/* tofu_fi_window - get the VCQ with which a process registers its memory */
int tofu_fi_window(const struct tofu_fi_domain *domain, uint32_t rank,
		   utofu_vcq_id_t *id);

/* ---- cntr.c ---- */

/* tofu_fi_cntr_trywait - as fi_trywait() */
int tofu_fi_cntr_trywait(struct fid *fid);

int tofu_fi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
		      struct fid_cntr **cntr, void *context);

/* ---- av.c ---- */

int tofu_fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		    struct fid_av **av, void *context);

/* tofu_fi_peer - get the entry of an address, or NULL */
static inline const struct tofu_fi_peer *
tofu_fi_peer(const struct tofu_fi_av *av, fi_addr_t address)
{
	return address < av->count && av->peer[address].used ?
		       &av->peer[address] :
		       NULL;
}

/* tofu_fi_address - get the address of a process, or FI_ADDR_NOTAVAIL */
static inline fi_addr_t tofu_fi_address(const struct tofu_fi_av *av,
					uint32_t rank)
{
	return av->of_rank[rank] ? av->of_rank[rank] - 1 : FI_ADDR_NOTAVAIL;
}

/* ---- cq.c ---- */

/* tofu_fi_cq_trywait - as fi_trywait() */
int tofu_fi_cq_trywait(struct fid *fid);

int tofu_fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		    struct fid_cq **cq, void *context);

/* tofu_fi_cq_add - append a completion; without memory for it, abort */
void tofu_fi_cq_add(struct tofu_fi_cq *cq, const struct tofu_fi_entry *entry);

/* tofu_fi_errno - get libfabric's number for a code of uTofu */
int tofu_fi_errno(int code);

/* ---- eq.c ---- */

int tofu_fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		    struct fid_eq **eq, void *context);

/* ---- ep.c ---- */

int tofu_fi_ep_open(struct fid_domain *domain, struct fi_info *info,
		    struct fid_ep **ep, void *context);

/* ---- tagged.c, untagged.c ---- */

extern struct fi_ops_msg tofu_fi_msg_ops;
extern struct fi_ops_tagged tofu_fi_tagged_ops;

/* ---- rma.c, atomic.c ---- */

extern struct fi_ops_rma tofu_fi_rma_ops;
extern struct fi_ops_atomic tofu_fi_atomic_ops;

int tofu_fi_query_atomic(struct fid_domain *domain, enum fi_datatype type,
			 enum fi_op op, struct fi_atomic_attr *attr,
			 uint64_t flags);

/* ---- op.c, receive.c ---- */

/* tofu_fi_progress - go on, and note what has ended, up to @most messages */
void tofu_fi_progress(struct tofu_fi_ep *ep, size_t most);

/* tofu_fi_progress_all - the same for all endpoints of a domain */
void tofu_fi_progress_all(struct tofu_fi_domain *domain);

/* tofu_fi_cancel - cancel the receive with this context, if it can be */
void tofu_fi_cancel(struct tofu_fi_ep *ep, void *context);

/* tofu_fi_forget - free all messages, when the endpoint has gone */
void tofu_fi_forget(struct tofu_fi_ep *ep);

#endif /* TOFU_FI_PROVIDER_H */
