/* SPDX-License-Identifier: MIT */
/*
 * tofu-bridge: the nodes of other hosts, in the fabric of this one.
 *
 *	local node -- ring --> proxy -- message --> bridge of the other host
 *	local node <-- ring -- proxy <-- message -- bridge of the other host
 *
 * A proxy is the endpoint of a remote node in the local fabric, and looks there
 * like any node. What a local node sends to it comes out of a ring (out.c) and
 * goes into a message (stream.c); what comes in a message goes into a ring
 * (in.c). Data to which a packet refers are copied into the message, and lie at
 * the other host where they were received (pool.c): memory that each proxy
 * publishes as its own.
 *
 * One thread does it all. It never waits for anybody: what cannot go on stays
 * where it is, in a ring or in a list that credits bound.
 *
 * May include: common/, fabric/, net/
 */
#ifndef TOFU_BRIDGE_H
#define TOFU_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "bridge/wire.h"
#include "common/hosts.h"
#include "fabric/fabric.h"

#define STATUS_FAILED 1

struct bridge;
struct link;

/* ---- pool.c: buffers of messages ---- */

/**
 * struct buffer - memory for a message
 * @data:   BRIDGE_MESSAGE bytes
 * @offset: of @data in the pool's file
 * @desc:   for libfabric
 * @users:  count of those who still read it
 * @since:  when it was put late, ms
 */
struct buffer {
	struct pool *pool;
	struct buffer *next;
	uint8_t *data;
	uint64_t offset;
	void *desc;
	unsigned int users;
	int64_t since;
};

/**
 * struct pool - buffers, which are parts of a file
 * @fd:    the file
 * @size:  of the file, bytes
 * @limit: most buffers; @made of them exist
 * @free:  list of unused ones
 * @late, @latest: first and last of those that a local node may still read
 */
struct pool {
	struct bridge *bridge;
	int fd;
	uint64_t size;
	unsigned int limit;
	unsigned int made;
	unsigned int unused;
	struct buffer *free;
	struct buffer *late;
	struct buffer *latest;
};

int pool_create(struct pool *pool, struct bridge *bridge, uint64_t bytes);
/* pool_get - a buffer with one user, or NULL */
struct buffer *pool_get(struct pool *pool);
void pool_put(struct buffer *buffer);
/* pool_put_late - the same, but it is not used again at once */
void pool_put_late(struct buffer *buffer);
/* pool_age - use again what was put late, and is old enough */
void pool_age(struct pool *pool);

/* ---- Virtual time ---- */

/**
 * struct note - what is to be done in the log of a proxy, or to be sent: a frame
 * @bytes: of @frame
 */
struct note {
	struct note *next;
	uint32_t bytes;
	_Alignas(BRIDGE_ALIGN) struct bridge_frame frame[];
};

struct notes {
	struct note *first;
	struct note **last;
	unsigned int count;
};

/**
 * struct timed - a remote node in virtual time
 * @created: its proxy has a clock
 * @state:   enum tofu_clock_state that was announced
 * @notes:   what has come of its log and words, and waits for room
 */
struct timed {
	bool created;
	unsigned int state;
	struct notes notes;
};

/**
 * struct seen - a local node in virtual time, as the other hosts know it
 * @gen:     the life that this is about
 * @state:   enum tofu_clock_state
 * @promise, @counted: its words
 */
struct seen {
	uint32_t gen;
	unsigned int state;
	uint64_t promise;
	uint64_t counted;
};

/* ---- Pairs of a local and a remote node ---- */

/**
 * struct out - packets of a class, from the local to the remote node
 * @used:  bytes of the window
 * @count: packets so far, modulo 2^32
 * @bytes, @cost: data of the packet at the head of the ring, and what it costs
 * @done:  bytes of its data that are in messages already; @begun: so is the packet
 *         itself
 */
struct out {
	uint32_t used;
	uint32_t count;
	uint32_t bytes;
	uint32_t cost;
	uint32_t done;
	bool begun;
};

/**
 * struct piece - data of a packet: @buffer is NULL where they could not be read
 */
struct piece {
	struct buffer *buffer;
	uint64_t offset;
	uint32_t bytes;
};

/**
 * struct parcel - a packet from the remote node
 * @packet:   in a ring @packet.payload bytes follow, data or references
 * @after, @number: as in its frame
 * @cost:     bytes of the window
 * @have:     bytes of @piece, up to @packet.length
 * @position: behind it in the ring, when it is there
 * @piece:    of a packet with references, @pieces of them so far; one without has
 *            its @packet.payload bytes there: parcel_data()
 */
struct parcel {
	struct parcel *next;
	struct tofu_packet packet;
	uint32_t after;
	uint32_t number;
	uint32_t cost;
	uint32_t have;
	uint64_t position;
	unsigned int pieces;
	struct piece piece[];
};

static inline uint8_t *parcel_data(struct parcel *parcel)
{
	return (uint8_t *)parcel->piece;
}

/* struct queue - parcels; @number: of the last one */
struct queue {
	struct parcel *first;
	struct parcel **last;
	uint32_t number;
};

/**
 * struct in - packets of a class, from the remote to the local node
 * @arriving: the one of which data are still to come, or NULL
 * @waiting:  complete ones, by the connections by which they came
 * @held:     those in the ring whose data are still needed
 * @used:     bytes of the window that are not given back; @owed: of them those to
 *            give back
 * @count:    packets so far that are in the ring, modulo 2^32
 */
struct in {
	struct parcel *arriving;
	struct queue waiting[TOFU_CLASSES];
	struct queue held;
	uint32_t used;
	uint32_t owed;
	uint32_t count;
};

/**
 * struct pair - of a local and a remote node
 * @next:   of the list of those that have something to do
 * @active: it is in that list
 */
struct pair {
	struct pair *next;
	bool active;
	uint32_t local;
	uint32_t remote;
	struct out out[TOFU_CLASSES];
	struct in in[TOFU_CLASSES];
};

/**
 * struct proxy - a remote node in the local fabric
 * @link:    to its host
 * @gen:     its generation there; 0: it is not up
 * @last:    the latest generation that this host was told
 * @ending:  it has gone, and what it has answered is still to be taken: until then
 *           at most, ms; or 0
 * @fabric:  NULL: it is not up, or cannot attach. With a @gen of 0 it is expected
 * @until:   so long, ms
 * @timed:   in virtual time
 * @pair:    by local node of this host; made when there is a packet
 */
struct proxy {
	struct link *link;
	uint32_t node;
	uint32_t gen;
	uint32_t last;
	int64_t ending;
	struct tofu_fabric *fabric;
	int64_t until;
	struct timed timed;
	struct pair **pair;
};

/* ---- stream.c: a connection ---- */

#define STREAM_RX 4 /* messages that can come */
#define STREAM_TX 8 /* messages under way */

enum stream_state {
	STREAM_OPENING, /* libfabric connects */
	STREAM_HELLO,   /* the other side has not proved who it is */
	STREAM_OPEN,
	STREAM_DEAD,
};

/**
 * struct op - what libfabric works on
 * @buffer: NULL: unused
 */
struct op {
	struct fi_context context;
	struct stream *stream;
	struct buffer *buffer;
	bool sends;
};

/**
 * struct stream - a connection
 * @connects: this side has connected it
 * @link:     of the host at the other side, once it is known
 * @since:    when it began, or was closed, ms
 * @heard:    when the last message came
 * @sent:     when the last one went
 * @spare:    for messages to send
 * @current:  the message that is being filled, or NULL
 * @fill:     bytes in it
 */
struct stream {
	struct stream *next;
	struct bridge *bridge;
	struct link *link;
	enum tofu_class class_;
	bool connects;
	enum stream_state state;
	struct fid_eq *eq;
	struct fid_ep *ep;
	int64_t since;
	int64_t heard;
	int64_t asked;
	struct bridge_hello own;
	struct bridge_hello other;
	bool has_hello;
	struct op rx[STREAM_RX];
	struct op tx[STREAM_TX];
	struct buffer *spare[STREAM_TX + 1];
	unsigned int spares;
	struct buffer *current;
	uint32_t fill;
	char peer[80];
};

int net_open(struct bridge *bridge, const char *provider);
void net_close(struct bridge *bridge);

/* stream_connect - begin to connect to the host of a link */
void stream_connect(struct link *link, enum tofu_class class_);
/* stream_close - of a dead stream */
void stream_close(struct stream *stream);
/**
 * stream_put - room for a frame in a message
 * @least, @most: bytes wanted
 *
 * Return: the frame, whose head is cleared but for @bytes: from @least to @most.
 * NULL where all messages are under way.
 */
struct bridge_frame *stream_put(struct stream *stream, uint32_t least,
				uint32_t most);
/* stream_cut - make the frame that was put last @bytes long */
void stream_cut(struct stream *stream, struct bridge_frame *frame,
		uint32_t bytes);
/* stream_raw - a message without frames */
void stream_raw(struct stream *stream, const void *data, uint32_t bytes);
/* stream_flush - send what is there; false where nothing is, or it has to wait */
bool stream_flush(struct stream *stream);
/* streams_progress - true where something came or went; @events: look also who
 * comes and goes, which costs more
 */
bool streams_progress(struct bridge *bridge, bool events);
/* streams_may_sleep - nothing has come; with @events, no event either */
bool streams_may_sleep(struct bridge *bridge, bool events);
/* streams_wait - something is to be sent, for which nobody wakes this thread */
bool streams_wait(const struct bridge *bridge);
/* stream_fail - it is of no use any more; say why, unless that was said already */
void stream_fail(struct stream *stream, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- hello.c: who is at the other side ---- */

void hello_send(struct stream *stream);
/* hello_take - a message of a stream that is not open */
void hello_take(struct stream *stream, const void *data, size_t bytes);
/* token_read - a secret from a file or the environment; exits without one */
void token_read(struct bridge *bridge, const char *path);

/* ---- link.c: another host ---- */

/**
 * struct link - another host
 * @number:  its place in the table
 * @info:    how libfabric reaches it, or NULL
 * @stream:  by class; NULL: none
 * @up:      both are open
 * @session: of both
 * @told:    by connection and local node: generation that the other side was told
 * @notes:   frames of virtual time that are to be sent
 * @untold:  there is something to tell
 * @lost:    when it was last there, or the beginning, ms
 * @leaves:  it has said so
 * @retry:   when to connect again, ms; @delay: how long it was
 * @rtt_us:  the last round trip
 */
struct link {
	struct bridge *bridge;
	uint32_t number;
	struct fi_info *info;
	const struct tofu_host *host;
	struct stream *stream[TOFU_CLASSES];
	bool up;
	uint64_t session;
	uint32_t *told[TOFU_CLASSES];
	struct notes notes;
	bool untold;
	int64_t lost;
	bool leaves;
	int64_t retry;
	int64_t delay;
	uint32_t rtt_us;
	uint64_t ups;
	uint64_t messages[2];
	uint64_t packets[2];
	uint64_t bytes[2];
	uint64_t waits;
};

int links_create(struct bridge *bridge);
/* link_open - a stream has proved to be of that host */
void link_open(struct stream *stream);
/* link_drop - the host cannot be reached; all its nodes go */
void link_drop(struct link *link);
/* links_tend - what is due now: connect, tell of local nodes, ask for signs */
void links_tend(struct bridge *bridge, bool ticks);
bool links_up(const struct bridge *bridge);
/* links_leave - tell all hosts that this one means to leave */
void links_leave(struct bridge *bridge);
/* bridge_say - print a line, unless one like it was printed lately */
void bridge_say(struct bridge *bridge, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- proxy.c: remote nodes in the local fabric ---- */

int proxies_create(struct bridge *bridge);
void proxy_up(struct proxy *proxy, uint32_t gen);
void proxy_down(struct proxy *proxy);
/* proxies_expect - all remote nodes, for a while from the beginning */
void proxies_expect(struct bridge *bridge);
/* proxy_expect_soon - for a short while: its host is there now */
void proxy_expect_soon(struct proxy *proxy);
/* proxy_end - its node has gone; it stays until its answers have been taken */
void proxy_end(struct proxy *proxy);
/* proxies_tend - those that have been expected long enough are not there, those that
 * end have ended, and those that could not attach try again
 */
void proxies_tend(struct bridge *bridge);
/* proxies_poll - take what local nodes have sent */
bool proxies_poll(struct bridge *bridge);
void proxies_want_wake(struct bridge *bridge, bool want);
/* proxy_woken - its descriptor was readable */
void proxy_woken(struct proxy *proxy);
/* proxy_pair - of @proxy and a local node, NULL where memory is short */
struct pair *proxy_pair(struct proxy *proxy, uint32_t local);
/* pair_reset - forget all that is under way */
void pair_reset(struct pair *pair);

/* ---- clock.c: virtual time ---- */

/* What functions that look at frames return where it is not the frame's fault */
extern const char bridge_no_memory[];

void notes_init(struct notes *notes);
void notes_drop(struct notes *notes);
/* clock_take - a frame of virtual time; NULL or what is wrong with it */
const char *clock_take(struct stream *stream, const struct bridge_frame *frame);
/* clock_progress - pass on what logs and words have new, both ways */
bool clock_progress(struct bridge *bridge, bool ticks);
/* clock_tell_anew - another host is there, and knows nothing */
void clock_tell_anew(struct bridge *bridge);
/* clock_reset - the proxy is another, or gone */
void clock_reset(struct proxy *proxy);

/* ---- out.c, in.c ---- */

int out_packet(struct proxy *proxy, const struct tofu_packet *packet,
	       const void *payload);

/* in_message - all frames of a message; @buffer is read later by users of its own */
void in_message(struct stream *stream, struct buffer *buffer, size_t bytes);
/* in_progress - put into rings what waits, release what was read; true where
 * anything moved
 */
bool in_progress(struct bridge *bridge);
/* in_waits - whether packets wait for room, or for others */
bool in_waits(const struct in *in);
void in_reset(struct in *in);
void in_activate(struct bridge *bridge, struct pair *pair);

/* ---- status.c ---- */

/* status_listen - 0 or a negative errno: -EBUSY where the fabric has a bridge */
int status_listen(struct bridge *bridge);
/* status_answer - to one that asks, if there is one */
void status_answer(struct bridge *bridge);

/* ---- bridge.c ---- */

/**
 * struct local - a node of this host
 * @gen:  its generation; 0: it is not up
 * @dead: a generation whose process has died
 * @past: the last generation that was told and is over
 * @answers: it has answers that could not go yet; @leaves: they are waited for so
 *        long, ms, after its end
 * @seen: in virtual time
 */
struct local {
	uint32_t gen;
	uint32_t dead;
	uint32_t past;
	bool answers;
	int64_t leaves;
	struct seen seen;
};

#define BRIDGE_SAID 64

/**
 * struct bridge - of this host
 * @path:    of the fabric's file; @path_kept: one that stays
 * @watch:   observes it
 * @self:    place of this host in @hosts; @host is its line
 * @local:   by node of this host, from @host->first on
 * @proxy:   by node of the machine; those of this host are unused
 * @link:    by host; that of this one is unused
 * @streams: connections; @grave: closed ones
 * @active:  pairs with something to do
 * @rx, @tx: buffers
 * @timeout: of a silent connection, ms
 * @quiet:   only what goes wrong is printed
 * @while_used: end when no node of this host is left; @used: when the last one was
 *           there, ms; @begun: one has been
 * @ends:    it has said that it leaves
 * @asked:   socket by which others ask for its state; -1: they cannot
 * @timed:   nodes are in virtual time
 * @busy:    packets have come or gone at this look
 * @rescan:  look at once which local nodes are up
 * @strange: lines about callers that did not prove who they are
 * @said:    hashes of lines that were printed
 */
struct bridge {
	const char *path;
	char path_kept[32];
	struct tofu_fabric *watch;
	struct tofu_hosts hosts;
	uint32_t self;
	const struct tofu_host *host;
	uint64_t table;
	uint8_t *token;
	size_t token_bytes;
	struct local *local;
	struct proxy *proxy;
	struct link *link;
	struct stream *streams;
	struct stream *grave;
	struct pair *active;
	struct pool rx;
	struct pool tx;
	int64_t timeout;
	bool quiet;
	bool while_used;
	int64_t used;
	bool begun;
	bool timed;
	bool busy;
	bool rescan;
	uint64_t looked; /* for events, in µs */
	unsigned int strange;
	uint64_t said[BRIDGE_SAID];
	unsigned int says;
	int epoll;
	int asked;
	const char *provider;
	struct fi_info *info;
	struct fid_fabric *net;
	struct fid_domain *domain;
	struct fid_cq *cq; /* of messages that have come */
	struct fid_cq *sent; /* of those that were sent */
	struct fid_eq *listen_eq;
	struct fid_pep *listen;
	bool ends;
};

int64_t bridge_now_ms(void);
uint64_t bridge_now_us(void);
/* bridge_watch - wake the thread when the descriptor is readable: that of @proxy, or
 * (NULL) one that tells of events. bridge_watch_messages: that of messages
 */
void bridge_watch(struct bridge *bridge, int fd, struct proxy *proxy);
void bridge_watch_messages(struct bridge *bridge, int fd);

static inline bool bridge_is_local(const struct bridge *bridge, uint32_t node)
{
	return node - bridge->host->first < bridge->host->nodes;
}

static inline struct local *bridge_local(const struct bridge *bridge,
					 uint32_t node)
{
	return &bridge->local[node - bridge->host->first];
}

#endif /* TOFU_BRIDGE_H */
