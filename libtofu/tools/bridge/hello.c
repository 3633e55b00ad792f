/* SPDX-License-Identifier: MIT */
/*
 * Who is at the other side. Both sides say which host they are, of which table,
 * and then prove that they have the token, by a code over what both have said.
 * The token itself is never sent. What follows is neither signed nor encrypted:
 * beyond a network that is trusted, connections go through a tunnel.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "bridge/bridge.h"
#include "common/args.h"

#define TOKEN_VARIABLE "TOFU_BRIDGE_TOKEN"
#define TOKEN_MIN 16
#define TOKEN_MAX 4096

TOFU_ASSERT(BRIDGE_PROOF == SHA256_DIGEST_SIZE, "HMAC-SHA256");

/* ---- The token ---- */

__attribute__((noreturn)) static void token_wrong(const char *where,
						  const char *why)
{
	errx(EXIT_USAGE,
	     "%s: %s; all hosts need the same secret: 'head -c 32 /dev/urandom "
	     "| base64' makes one",
	     where, why);
}

static void token_keep(struct bridge *bridge, const char *where,
		       const char *text, size_t bytes)
{
	while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r'))
		bytes--;
	if (bytes < TOKEN_MIN)
		token_wrong(where, "a token of less than 16 bytes is guessed");
	bridge->token = malloc(bytes);
	if (!bridge->token)
		errx(STATUS_FAILED, "out of memory");
	memcpy(bridge->token, text, bytes);
	bridge->token_bytes = bytes;
}

static void token_file(struct bridge *bridge, const char *path)
{
	char text[TOKEN_MAX];
	struct stat st;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		err(EXIT_USAGE, "--token: %s", path);
	if (st.st_uid != geteuid() && st.st_uid)
		token_wrong(path, "it belongs to another user");
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		token_wrong(path, "others can read or write it (chmod 600)");
	got = read(fd, text, sizeof(text));
	if (got < 0)
		err(EXIT_USAGE, "--token: %s", path);
	close(fd);
	token_keep(bridge, path, text, (size_t)got);
	explicit_bzero(text, sizeof(text));
}

void token_read(struct bridge *bridge, const char *path)
{
	char *text = getenv(TOKEN_VARIABLE);

	if (path) {
		token_file(bridge, path);
		return;
	}
	if (!text)
		token_wrong(TOKEN_VARIABLE,
			    "it is not set, and there is no --token FILE");
	token_keep(bridge, TOKEN_VARIABLE, text, strlen(text));
	/* Not for whoever looks at this process later. */
	explicit_bzero(text, strlen(text));
	unsetenv(TOKEN_VARIABLE);
}

/* ---- Greetings ---- */

static void say_hello(struct stream *stream)
{
	stream_raw(stream, &stream->own, sizeof(stream->own));
}

void hello_send(struct stream *stream)
{
	struct bridge *bridge = stream->bridge;
	struct bridge_hello *own = &stream->own;

	*own = (struct bridge_hello){
		.magic = BRIDGE_MAGIC,
		.version = BRIDGE_VERSION,
		.packets = stream->class_,
		.from = bridge->self,
		.table = bridge->table,
	};
	if (getrandom(own->nonce, sizeof(own->nonce), 0) !=
	    sizeof(own->nonce)) {
		stream_fail(stream, "no random numbers: %s", strerror(errno));
		return;
	}
	/* The side that was called says nothing before it knows to whom. */
	if (!stream->connects)
		return;
	own->to = stream->link->number;
	own->session = stream->link->session;
	say_hello(stream);
}

static void prove(const struct stream *stream, bool connects,
		  uint8_t mac[BRIDGE_PROOF])
{
	const struct bridge_hello *caller =
		stream->connects ? &stream->own : &stream->other;
	const struct bridge_hello *called =
		stream->connects ? &stream->other : &stream->own;
	const uint8_t side = connects ? 'c' : 's';
	struct hmac_sha256_ctx hmac;

	hmac_sha256_set_key(&hmac, stream->bridge->token_bytes,
			    stream->bridge->token);
	hmac_sha256_update(&hmac, 1, &side);
	hmac_sha256_update(&hmac, sizeof(*caller), (const uint8_t *)caller);
	hmac_sha256_update(&hmac, sizeof(*called), (const uint8_t *)called);
	hmac_sha256_digest(&hmac, BRIDGE_PROOF, mac);
}

static void send_proof(struct stream *stream)
{
	struct bridge_proof proof;

	prove(stream, stream->connects, proof.mac);
	stream_raw(stream, &proof, sizeof(proof));
}

/* Which host the other side says to be; NULL after a failure. */
static struct link *caller_of(struct stream *stream,
			      const struct bridge_hello *hello)
{
	struct bridge *bridge = stream->bridge;

	if (hello->to != bridge->self || hello->from >= bridge->hosts.count ||
	    hello->from == bridge->self || hello->packets >= TOFU_CLASSES ||
	    (stream->connects && (hello->from != stream->link->number ||
				  hello->packets != stream->class_ ||
				  hello->session != stream->own.session))) {
		stream_fail(stream, "it is not the host that it should be, or "
				    "has this one for another");
		return NULL;
	}
	return &bridge->link[hello->from];
}

/*
 * The side that was called answers before it judges, so that both can say what
 * is wrong.
 */
static void take_hello(struct stream *stream, const struct bridge_hello *hello)
{
	struct link *link;

	stream->other = *hello;
	stream->has_hello = true;
	if (!stream->connects) {
		stream->own.to = hello->from;
		stream->own.packets = hello->packets;
		stream->own.session = hello->session;
		say_hello(stream);
	}
	if (hello->version != BRIDGE_VERSION) {
		stream_fail(stream,
			    "its bridge is of version %u, this one of version "
			    "%d; install the same on all hosts",
			    hello->version, BRIDGE_VERSION);
		return;
	}
	if (hello->table != stream->bridge->table) {
		stream_fail(stream, "it has another --hosts or another shape of "
				    "the machine: they are the same everywhere");
		return;
	}
	link = caller_of(stream, hello);
	if (!link)
		return;
	stream->class_ = hello->packets;
	if (stream->connects)
		send_proof(stream);
}

static void take_proof(struct stream *stream, const struct bridge_proof *proof)
{
	static const struct bridge_proof nothing;
	uint8_t mac[BRIDGE_PROOF];

	prove(stream, !stream->connects, mac);
	if (!memeql_sec(mac, proof->mac, BRIDGE_PROOF)) {
		/* It learns that, and nothing that depends on the token. */
		if (!stream->connects)
			stream_raw(stream, &nothing, sizeof(nothing));
		stream_fail(stream, "it has another token than this host");
		return;
	}
	if (!stream->connects) {
		stream->link = &stream->bridge->link[stream->other.from];
		send_proof(stream);
	}
	if (stream->state == STREAM_HELLO)
		link_open(stream);
}

void hello_take(struct stream *stream, const void *data, size_t bytes)
{
	/* Some networks bring a message before they say that it is connected. */
	if (stream->state == STREAM_OPENING) {
		stream->state = STREAM_HELLO;
		hello_send(stream);
	}
	if (stream->state != STREAM_HELLO)
		return;
	if (!stream->has_hello) {
		const struct bridge_hello *hello = data;

		if (bytes < sizeof(*hello) || hello->magic != BRIDGE_MAGIC)
			stream_fail(stream, "that is no bridge");
		else
			take_hello(stream, hello);
		return;
	}
	if (bytes == sizeof(struct bridge_proof))
		take_proof(stream, data);
	else
		stream_fail(stream, "it says something else than who it is");
}
