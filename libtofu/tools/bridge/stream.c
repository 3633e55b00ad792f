/* SPDX-License-Identifier: MIT */
/*
 * Connections to other hosts, by libfabric: connected endpoints (FI_EP_MSG),
 * which its tcp and verbs providers both have themselves. Messages arrive in
 * order, and an endpoint says when the other side is gone.
 *
 * All connections have one queue of completions for what comes, since to look at one
 * costs several system calls, and one for what was sent, which is looked at when
 * buffers are needed: nobody has to be woken for that. A closed connection is kept
 * until none of its completions can be in there any more.
 */
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "bridge/bridge.h"

#define FI_API FI_VERSION(1, 15)

/* Connections whose other side has not proved who it is */
#define STRANGERS_MAX 16
#define HELLO_MS 10000
/* Lines about them: they choose some of the words. */
#define STRANGE_MAX 100
#define EARLY_MS 5000

/* A closed connection is kept so long, and until the queue is empty. */
#define GRAVE_MS 1000

#define PREDECESSOR_MS 3000
#define COMPLETIONS 32

/* ---- The network ---- */

static struct fi_info *find(const char *provider, const char *address,
			    const char *port, uint64_t flags, int *err)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	*err = -FI_ENOMEM;
	if (!hints)
		return NULL;
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->addr_format = FI_FORMAT_UNSPEC;
	hints->fabric_attr->prov_name = strdup(provider);
	*err = fi_getinfo(FI_API, address, port, flags, hints, &info);
	fi_freeinfo(hints);
	return *err ? NULL : info;
}

static int open_eq(struct bridge *bridge, struct fid_eq **eq)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	int fd, err = fi_eq_open(bridge->net, &attr, eq, NULL);

	if (!err)
		err = fi_control(&(*eq)->fid, FI_GETWAIT, &fd);
	if (!err)
		bridge_watch(bridge, fd, NULL);
	return err;
}

static int open_listener(struct bridge *bridge)
{
	int err = open_eq(bridge, &bridge->listen_eq);

	if (!err)
		err = fi_passive_ep(bridge->net, bridge->info, &bridge->listen,
				    NULL);
	if (!err)
		err = fi_pep_bind(bridge->listen, &bridge->listen_eq->fid, 0);
	return err ? err : fi_listen(bridge->listen);
}

static void close_listener(struct bridge *bridge)
{
	if (bridge->listen)
		fi_close(&bridge->listen->fid);
	if (bridge->listen_eq)
		fi_close(&bridge->listen_eq->fid);
	bridge->listen = NULL;
	bridge->listen_eq = NULL;
}

/* The bridge of ranks that have just left may still be there. */
static int listen_in_time(struct bridge *bridge)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	const int64_t end = bridge_now_ms() + PREDECESSOR_MS;
	int err = open_listener(bridge);

	while (err == -FI_EADDRINUSE && bridge->while_used &&
	       bridge_now_ms() < end) {
		close_listener(bridge);
		nanosleep(&nap, NULL);
		err = open_listener(bridge);
	}
	return err;
}

/* With @each that every connection can have under way, and that of closed ones. */
static int open_cq(struct bridge *bridge, unsigned int each,
		   enum fi_wait_obj wait, struct fid_cq **cq)
{
	struct fi_cq_attr attr = {
		.size = 4 * each * TOFU_CLASSES *
			(bridge->hosts.count + STRANGERS_MAX),
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = wait,
	};

	return fi_cq_open(bridge->domain, &attr, cq, NULL);
}

static int open_cqs(struct bridge *bridge)
{
	int fd, err = open_cq(bridge, STREAM_RX, FI_WAIT_FD, &bridge->cq);

	if (!err)
		err = open_cq(bridge, STREAM_TX, FI_WAIT_NONE, &bridge->sent);
	if (!err)
		err = fi_control(&bridge->cq->fid, FI_GETWAIT, &fd);
	if (!err)
		bridge_watch_messages(bridge, fd);
	return err;
}

int net_open(struct bridge *bridge, const char *provider)
{
	const struct tofu_host *host = bridge->host;
	const char *address = host->address ? host->address : "127.0.0.1";
	int err;

	bridge->provider = provider;
	bridge->info = find(provider, address, host->port, FI_SOURCE, &err);
	if (!bridge->info) {
		fprintf(stderr,
			"tofu-bridge: no %s of libfabric at %s (%s): is that an "
			"address of this host?\n",
			provider, address, fi_strerror(-err));
		return err;
	}
	err = fi_fabric(bridge->info->fabric_attr, &bridge->net, NULL);
	if (!err)
		err = fi_domain(bridge->net, bridge->info, &bridge->domain,
				NULL);
	if (!err)
		err = open_cqs(bridge);
	if (!err)
		err = listen_in_time(bridge);
	if (err)
		fprintf(stderr, "tofu-bridge: cannot listen at %s port %s: %s\n",
			address, host->port, fi_strerror(-err));
	return err;
}

/* ---- A connection ---- */

/* Hosts do not begin at the same time. */
static bool is_early(const struct stream *stream)
{
	return stream->state == STREAM_OPENING && stream->link &&
	       bridge_now_ms() - stream->link->lost < EARLY_MS;
}

void stream_fail(struct stream *stream, const char *format, ...)
{
	const bool says = stream->state != STREAM_DEAD && !is_early(stream);
	char text[256];
	va_list args;

	stream->state = STREAM_DEAD;
	if (!says || (!stream->link && ++stream->bridge->strange > STRANGE_MAX))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bridge_say(stream->bridge, "%s: %s",
		   stream->link ? stream->link->host->name : stream->peer,
		   text);
}

/*
 * What waits for nodes that stand still may use up the buffers of requests, but not
 * those by which responses and credits come.
 */
static bool may_post(const struct stream *stream)
{
	const struct pool *pool = &stream->bridge->rx;
	const unsigned int reserve =
		STREAM_RX * (stream->bridge->hosts.count + STRANGERS_MAX);

	return stream->state != STREAM_OPEN ||
	       stream->class_ == TOFU_RESPONSE ||
	       pool->limit - pool->made + pool->unused > reserve;
}

static bool listens(const struct stream *stream)
{
	for (unsigned int i = 0; i < STREAM_RX; i++)
		if (stream->rx[i].buffer)
			return true;
	return false;
}

static void post_receives(struct stream *stream)
{
	if (!may_post(stream))
		return;
	/* While it did not listen it could not hear anything. */
	if (!listens(stream))
		stream->heard = bridge_now_ms();
	for (unsigned int i = 0; i < STREAM_RX; i++) {
		struct op *op = &stream->rx[i];
		ssize_t err;

		if (op->buffer)
			continue;
		op->buffer = pool_get(&stream->bridge->rx);
		if (!op->buffer)
			return;
		err = fi_recv(stream->ep, op->buffer->data, BRIDGE_MESSAGE,
			      op->buffer->desc, 0, &op->context);
		if (!err)
			continue;
		pool_put(op->buffer);
		op->buffer = NULL;
		if (err != -FI_EAGAIN)
			stream_fail(stream, "%s", fi_strerror((int)-err));
		return;
	}
}

static int open_endpoint(struct stream *stream, struct fi_info *info)
{
	struct bridge *bridge = stream->bridge;
	int err = open_eq(bridge, &stream->eq);

	if (!err)
		err = fi_endpoint(bridge->domain, info, &stream->ep, NULL);
	if (!err)
		err = fi_ep_bind(stream->ep, &stream->eq->fid, 0);
	if (!err)
		err = fi_ep_bind(stream->ep, &bridge->cq->fid, FI_RECV);
	if (!err)
		err = fi_ep_bind(stream->ep, &bridge->sent->fid, FI_TRANSMIT);
	return err ? err : fi_enable(stream->ep);
}

static void init_ops(struct stream *stream)
{
	for (unsigned int i = 0; i < STREAM_RX; i++)
		stream->rx[i].stream = stream;
	for (unsigned int i = 0; i < STREAM_TX; i++) {
		stream->tx[i].stream = stream;
		stream->tx[i].sends = true;
	}
}

static bool take_spares(struct stream *stream)
{
	while (stream->spares < STREAM_TX + 1) {
		struct buffer *buffer = pool_get(&stream->bridge->tx);

		if (!buffer)
			return false;
		stream->spare[stream->spares++] = buffer;
	}
	return true;
}

/* Of IPv4 and IPv6; other networks have other addresses. Ports differ each time. */
static void name_peer(struct stream *stream, const struct fi_info *info)
{
	const struct sockaddr *address = info->dest_addr;
	char host[64];

	if (!address || (info->addr_format != FI_SOCKADDR_IN &&
			 info->addr_format != FI_SOCKADDR_IN6 &&
			 info->addr_format != FI_SOCKADDR) ||
	    getnameinfo(address, (socklen_t)info->dest_addrlen, host,
			sizeof(host), NULL, 0, NI_NUMERICHOST))
		snprintf(stream->peer, sizeof(stream->peer), "a stranger");
	else
		snprintf(stream->peer, sizeof(stream->peer), "a caller from %s",
			 host);
}

static struct stream *stream_create(struct bridge *bridge,
				    struct fi_info *info)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int err = -FI_ENOMEM;

	if (!stream)
		return NULL;
	stream->bridge = bridge;
	stream->since = bridge_now_ms();
	stream->heard = stream->since;
	stream->next = bridge->streams;
	bridge->streams = stream;
	init_ops(stream);
	name_peer(stream, info);
	if (take_spares(stream))
		err = open_endpoint(stream, info);
	if (!err)
		post_receives(stream);
	if (!err && stream->state != STREAM_DEAD)
		return stream;
	if (err)
		bridge_say(bridge, "cannot make a connection: %s",
			   fi_strerror(-err));
	stream_close(stream);
	return NULL;
}

void stream_connect(struct link *link, enum tofu_class class_)
{
	struct bridge *bridge = link->bridge;
	const char *address = link->host->address ? link->host->address :
						    "127.0.0.1";
	struct fi_info *info;
	struct stream *stream;
	int err = 0;

	/* Once: to look a name up can take long, and everything waits for it. */
	if (!link->info)
		link->info = find(bridge->provider, address,
				  link->host->port, 0, &err);
	info = link->info;
	if (!info) {
		bridge_say(bridge, "%s: no way to %s: %s", link->host->name,
			   address, fi_strerror(-err));
		return;
	}
	stream = stream_create(bridge, info);
	if (stream) {
		stream->link = link;
		stream->class_ = class_;
		stream->connects = true;
		link->stream[class_] = stream;
		err = fi_connect(stream->ep, info->dest_addr, NULL, 0);
		if (err)
			stream_fail(stream, "%s", fi_strerror(-err));
	}
}

static unsigned int count_strangers(const struct bridge *bridge)
{
	unsigned int count = 0;

	for (const struct stream *s = bridge->streams; s; s = s->next)
		count += !s->link;
	/* These have their buffers still. */
	for (const struct stream *s = bridge->grave; s; s = s->next)
		count += !s->link;
	return count;
}

static void stream_accept(struct bridge *bridge, struct fi_info *info)
{
	struct stream *stream = NULL;
	int err;

	if (count_strangers(bridge) < STRANGERS_MAX)
		stream = stream_create(bridge, info);
	else
		bridge_say(bridge, "more than %d that do not say who they are",
			   STRANGERS_MAX);
	if (!stream) {
		fi_reject(bridge->listen, info->handle, NULL, 0);
	} else {
		err = fi_accept(stream->ep, NULL, 0);
		/* Its socket belongs to the endpoint by now. */
		if (err)
			stream_fail(stream, "%s", fi_strerror(-err));
	}
	fi_freeinfo(info);
}

static void drop_op(struct op *op)
{
	if (op->buffer)
		pool_put(op->buffer);
	op->buffer = NULL;
}

static bool read_completions(struct fid_cq *cq);
static bool read_all(struct bridge *bridge);

/* The end of the one that was closed first; its completions have been read. */
static void bury_first(struct bridge *bridge)
{
	struct stream *stream = bridge->grave;

	bridge->grave = stream->next;
	for (unsigned int i = 0; i < STREAM_RX; i++)
		drop_op(&stream->rx[i]);
	for (unsigned int i = 0; i < STREAM_TX; i++)
		drop_op(&stream->tx[i]);
	while (stream->spares)
		pool_put(stream->spare[--stream->spares]);
	if (stream->current)
		pool_put(stream->current);
	free(stream);
}

/* true where something has come meanwhile */
static bool bury_old(struct bridge *bridge)
{
	const int64_t now = bridge_now_ms();
	bool work = false;

	if (!bridge->grave)
		return false;
	while (read_all(bridge))
		work = true;
	while (bridge->grave && now - bridge->grave->since > GRAVE_MS)
		bury_first(bridge);
	return work;
}

void stream_close(struct stream *stream)
{
	struct bridge *bridge = stream->bridge;
	struct stream **at = &bridge->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	stream->state = STREAM_DEAD;
	if (stream->ep)
		fi_close(&stream->ep->fid);
	if (stream->eq)
		fi_close(&stream->eq->fid);
	stream->since = bridge_now_ms();
	stream->next = NULL;
	for (at = &bridge->grave; *at; at = &(*at)->next)
		;
	*at = stream;
}

/* ---- Sending ---- */

static struct op *free_op(struct stream *stream)
{
	for (unsigned int i = 0; i < STREAM_TX; i++)
		if (!stream->tx[i].buffer)
			return &stream->tx[i];
	return NULL;
}

bool stream_flush(struct stream *stream)
{
	struct op *op;
	ssize_t err;

	if (!stream->current || !stream->fill || stream->state == STREAM_DEAD)
		return false;
	op = free_op(stream);
	if (!op && read_completions(stream->bridge->sent))
		op = free_op(stream);
	if (!op)
		return false;
	err = fi_send(stream->ep, stream->current->data, stream->fill,
		      stream->current->desc, 0, &op->context);
	if (err == -FI_EAGAIN)
		return false;
	if (err) {
		stream_fail(stream, "%s", fi_strerror((int)-err));
		return false;
	}
	op->buffer = stream->current;
	stream->current = NULL;
	stream->fill = 0;
	if (stream->link)
		stream->link->messages[1]++;
	return true;
}

/* Whether @bytes fit into the current message, or into a new one. */
static bool has_room(struct stream *stream, uint32_t bytes)
{
	if (stream->current && BRIDGE_MESSAGE - stream->fill < bytes)
		stream_flush(stream);
	if (!stream->current && stream->spares)
		stream->current = stream->spare[--stream->spares];
	return stream->current && BRIDGE_MESSAGE - stream->fill >= bytes;
}

struct bridge_frame *stream_put(struct stream *stream, uint32_t least,
				uint32_t most)
{
	struct bridge_frame *frame;
	uint32_t room;

	if (stream->state != STREAM_OPEN || !has_room(stream, least))
		return NULL;
	room = BRIDGE_MESSAGE - stream->fill;
	frame = (void *)(stream->current->data + stream->fill);
	*frame = (struct bridge_frame){ .bytes = most < room ? most : room };
	stream->fill += bridge_round(frame->bytes);
	return frame;
}

void stream_cut(struct stream *stream, struct bridge_frame *frame,
		uint32_t bytes)
{
	stream->fill -= bridge_round(frame->bytes) - bridge_round(bytes);
	frame->bytes = bytes;
}

void stream_raw(struct stream *stream, const void *data, uint32_t bytes)
{
	if (!has_room(stream, bytes)) {
		stream_fail(stream, "no room for a greeting");
		return;
	}
	memcpy(stream->current->data + stream->fill, data, bytes);
	stream->fill += bytes;
	stream_flush(stream);
	/* Nothing else may come into that message. */
	if (stream->current)
		stream_fail(stream, "it takes no greeting");
}

/* ---- What comes ---- */

static void received(struct op *op, size_t bytes)
{
	struct stream *stream = op->stream;
	struct buffer *buffer = op->buffer;

	op->buffer = NULL;
	stream->heard = bridge_now_ms();
	if (stream->link)
		stream->link->messages[0]++;
	if (stream->state == STREAM_OPEN)
		in_message(stream, buffer, bytes);
	else
		hello_take(stream, buffer->data, bytes);
	pool_put(buffer);
}

static void transmitted(struct op *op)
{
	struct stream *stream = op->stream;

	stream->spare[stream->spares++] = op->buffer;
	op->buffer = NULL;
}

static void completion_failed(struct fid_cq *cq)
{
	struct fi_cq_err_entry entry = { 0 };
	struct stream *stream;
	struct op *op;

	if (fi_cq_readerr(cq, &entry, 0) != 1 || !entry.op_context)
		return;
	op = entry.op_context;
	stream = op->stream;
	if (entry.err == FI_ECANCELED ||
	    (stream->link && stream->link->leaves))
		stream->state = STREAM_DEAD;
	else
		stream_fail(stream, "%s", fi_strerror(entry.err));
}

static bool read_completions(struct fid_cq *cq)
{
	struct fi_cq_msg_entry entry[COMPLETIONS];
	ssize_t count = fi_cq_read(cq, entry, COMPLETIONS);

	if (count == -FI_EAVAIL)
		completion_failed(cq);
	for (ssize_t i = 0; i < count; i++) {
		struct op *op = entry[i].op_context;

		if (op->sends)
			transmitted(op);
		else if (op->stream->state != STREAM_DEAD)
			received(op, entry[i].len);
	}
	return count > 0 || count == -FI_EAVAIL;
}

static bool read_all(struct bridge *bridge)
{
	bool work = read_completions(bridge->sent);

	return read_completions(bridge->cq) || work;
}

static bool event_failed(struct fid_eq *eq, struct stream *stream)
{
	struct fi_eq_err_entry entry = { 0 };

	if (fi_eq_readerr(eq, &entry, 0) <= 0)
		return false;
	if (!stream)
		return true;
	while (stream->state == STREAM_OPEN && read_all(stream->bridge))
		;
	stream_fail(stream, "%s", fi_strerror(entry.err));
	return true;
}

static bool read_events(struct stream *stream)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;
	ssize_t got = fi_eq_read(stream->eq, &event, &entry, sizeof(entry), 0);

	if (got == -FI_EAVAIL)
		return event_failed(stream->eq, stream);
	if (got < 0)
		return false;
	if (event == FI_CONNECTED && stream->state == STREAM_OPENING) {
		stream->state = STREAM_HELLO;
		hello_send(stream);
	} else if (event == FI_SHUTDOWN) {
		/* What it sent before still counts. */
		while (read_all(stream->bridge))
			;
		if (stream->state == STREAM_OPEN && !stream->link->leaves)
			stream_fail(stream, "the connection is closed");
		stream->state = STREAM_DEAD;
	}
	return true;
}

static bool read_requests(struct bridge *bridge)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;
	ssize_t got = fi_eq_read(bridge->listen_eq, &event, &entry,
				 sizeof(entry), 0);

	if (got == -FI_EAVAIL)
		return event_failed(bridge->listen_eq, NULL);
	if (got < 0)
		return false;
	if (event == FI_CONNREQ)
		stream_accept(bridge, entry.info);
	return true;
}

static void check_times(struct stream *stream)
{
	const int64_t now = bridge_now_ms();

	if (stream->state == STREAM_OPEN && listens(stream) &&
	    now - stream->heard > stream->bridge->timeout)
		stream_fail(stream, "nothing has come for %lld s",
			    (long long)(stream->bridge->timeout / 1000));
	if (stream->state < STREAM_OPEN && now - stream->since > HELLO_MS)
		stream_fail(stream, "does not answer");
}

static struct stream *find_dead(const struct bridge *bridge)
{
	struct stream *stream = bridge->streams;

	while (stream && stream->state != STREAM_DEAD)
		stream = stream->next;
	return stream;
}

static void reap(struct stream *stream)
{
	struct link *link = stream->link;

	if (link && link->stream[stream->class_] == stream)
		link_drop(link);
	stream_close(stream);
}

static bool all_events(struct bridge *bridge)
{
	bool work = read_requests(bridge);

	for (struct stream *s = bridge->streams; s; s = s->next)
		work |= read_events(s);
	work |= read_completions(bridge->sent);
	return bury_old(bridge) || work;
}

bool streams_progress(struct bridge *bridge, bool events)
{
	bool work = events && all_events(bridge);
	struct stream *stream;

	work |= read_completions(bridge->cq);
	for (stream = bridge->streams; stream; stream = stream->next) {
		if (stream->state == STREAM_DEAD)
			continue;
		post_receives(stream);
		work |= stream_flush(stream);
		if (events)
			check_times(stream);
	}
	while ((stream = find_dead(bridge)))
		reap(stream);
	return work;
}

bool streams_may_sleep(struct bridge *bridge, bool events)
{
	struct fid *fids[] = { &bridge->cq->fid, &bridge->listen_eq->fid };

	if (fi_trywait(bridge->net, fids, events ? 2 : 1))
		return false;
	for (struct stream *s = bridge->streams; s && events; s = s->next) {
		struct fid *fid = &s->eq->fid;

		if (fi_trywait(bridge->net, &fid, 1))
			return false;
	}
	return true;
}

bool streams_wait(const struct bridge *bridge)
{
	for (const struct stream *s = bridge->streams; s; s = s->next)
		if (s->state == STREAM_OPEN && s->current && s->fill)
			return true;
	return false;
}

/* ---- The end ---- */

void net_close(struct bridge *bridge)
{
	while (bridge->streams)
		stream_close(bridge->streams);
	while (bridge->grave)
		bury_first(bridge);
	close_listener(bridge);
	if (bridge->cq)
		fi_close(&bridge->cq->fid);
	if (bridge->sent)
		fi_close(&bridge->sent->fid);
	if (bridge->domain)
		fi_close(&bridge->domain->fid);
	if (bridge->net)
		fi_close(&bridge->net->fid);
	if (bridge->info)
		fi_freeinfo(bridge->info);
}
