/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: what fi_getinfo() tells, and the objects. Files of
 * their own have tests of transfers, of receives, of completions, and of memory.
 */
#include "fi-remote.h"

#include <string.h>

#define CAPS (FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_SOURCE | \
	      FI_MULTI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM)

/* ---- fi_getinfo() ---- */

static int info_get(const struct fi_info *hints, struct fi_info **got)
{
	return fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, got);
}

static int info_is_right(const struct fi_info *got)
{
	TEST(got->ep_attr->type == FI_EP_RDM);
	TEST((got->caps & CAPS) == CAPS);
	TEST(!(got->caps & FI_COLLECTIVE));
	TEST(!got->mode);
	TEST(got->tx_attr->msg_order & FI_ORDER_SAS);
	TEST(got->rx_attr->msg_order & FI_ORDER_SAS);
	TEST(got->tx_attr->inject_size == INJECT_MAX);
	TEST(got->tx_attr->iov_limit == PIECES_MAX);
	TEST(got->rx_attr->iov_limit == PIECES_MAX);
	TEST(got->ep_attr->max_msg_size >= 20u << 20);
	TEST(!(got->ep_attr->mem_tag_format & 1ull << 63));
	TEST(got->ep_attr->mem_tag_format & 1ull << 62);
	TEST(got->domain_attr->cq_data_size == 4);
	TEST(got->domain_attr->data_progress == FI_PROGRESS_MANUAL);
	TEST(got->domain_attr->control_progress == FI_PROGRESS_MANUAL);
	TEST(got->domain_attr->ep_cnt >= 2 && got->domain_attr->cq_cnt >= 4);
	return 0;
}

static int info_plain(void)
{
	struct fi_info *got = NULL, *at;

	TEST(!info_get(NULL, &got));
	for (at = got; at; at = at->next)
		if (!strcmp(at->fabric_attr->prov_name, "tofu"))
			break;
	TEST(at);
	RUN(info_is_right(at));
	TEST(at->caps & FI_RMA);
	TEST(at->caps & FI_ATOMIC || !machine_has_atomics());
	fi_freeinfo(got);
	RUN(info_is_right(info));
	return 0;
}

static struct fi_info *hints_new(void)
{
	struct fi_info *hints = fi_allocinfo();

	if (hints)
		hints->fabric_attr->prov_name = strdup("tofu");
	return hints;
}

static int info_hints(void)
{
	struct fi_info *hints = hints_new(), *got = NULL;

	TEST(hints);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = CAPS;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->tx_attr->inject_size = INJECT_MAX;
	hints->tx_attr->iov_limit = hints->rx_attr->iov_limit = PIECES_MAX;
	hints->domain_attr->cq_data_size = 4;
	hints->domain_attr->av_type = FI_AV_MAP;
	TEST(!info_get(hints, &got));
	RUN(info_is_right(got));
	TEST(!(got->caps & (FI_RMA | FI_ATOMIC)));
	fi_freeinfo(got);
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT;
	hints->tx_attr->inject_size = hints->tx_attr->iov_limit = 1;
	hints->domain_attr->av_type = FI_AV_TABLE;
	TEST(!info_get(hints, &got));
	TEST(got->caps & FI_TAGGED);
	TEST(got->tx_attr->inject_size >= 1 && got->tx_attr->iov_limit >= 1);
	TEST(got->domain_attr->av_type == FI_AV_TABLE);
	fi_freeinfo(got);
	fi_freeinfo(hints);
	return 0;
}

static void hint_dgram(struct fi_info *hints)
{
	hints->ep_attr->type = FI_EP_DGRAM;
}

static void hint_msg(struct fi_info *hints)
{
	hints->ep_attr->type = FI_EP_MSG;
}

static void hint_rma(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA;
}

static void hint_atomic(struct fi_info *hints)
{
	hints->caps = FI_ATOMIC;
}

static void hint_inject(struct fi_info *hints)
{
	hints->tx_attr->inject_size = INJECT_MAX + 1;
}

static void hint_pieces_sent(struct fi_info *hints)
{
	hints->tx_attr->iov_limit = PIECES_MAX + 1;
}

static void hint_pieces_received(struct fi_info *hints)
{
	hints->rx_attr->iov_limit = PIECES_MAX + 1;
}

static void hint_data(struct fi_info *hints)
{
	hints->domain_attr->cq_data_size = 8;
}

static void hint_size(struct fi_info *hints)
{
	hints->tx_attr->size = info->tx_attr->size + 1;
}

static void hint_contexts(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = 2;
}

static void hint_order(struct fi_info *hints)
{
	hints->tx_attr->msg_order = FI_ORDER_RAW;
}

static void hint_format(struct fi_info *hints)
{
	hints->addr_format = FI_SOCKADDR_IN;
}

static int info_refused(void)
{
	void (*const hint[])(struct fi_info *hints) = {
		hint_dgram, hint_msg, hint_rma, hint_atomic, hint_inject,
		hint_pieces_sent, hint_pieces_received, hint_data,
		hint_size, hint_contexts, hint_order, hint_format
	};

	for (size_t i = 0; i < sizeof(hint) / sizeof(hint[0]); i++) {
		struct fi_info *hints = hints_new(), *got = NULL;
		int ret;

		TEST(hints);
		hint[i](hints);
		ret = info_get(hints, &got);
		if (ret != -FI_ENODATA)
			fprintf(stderr, "# rank %d: hint %zu: %d\n", rank, i, ret);
		TEST(ret == -FI_ENODATA);
		fi_freeinfo(hints);
	}
	return 0;
}

/* ---- Address vectors ---- */

static int one_message(struct port *port, uint64_t tag)
{
	struct done done[2] = { 0 };
	unsigned int sent = (unsigned int)rank, got = 0;

	TEST(!receive_tagged(port, left, &got, sizeof(got), tag, 0, &done[0]));
	TEST(!send_tagged(port, right, &sent, sizeof(sent), tag, &done[1]));
	TEST(succeeded(done, 2));
	TEST(got == (unsigned int)left);
	TEST(done[0].from == port->peer[left]);
	return 0;
}

static int looks_up(struct port *port)
{
	uint8_t name[NAME_BYTES + 8];

	for (int i = 0; i < ranks; i++) {
		size_t bytes = sizeof(name);

		memset(name, 0x5a, sizeof(name));
		TEST(!fi_av_lookup(port->av, port->peer[i], name, &bytes));
		TEST(bytes == NAME_BYTES);
		TEST(!memcmp(name, port->names[i], NAME_BYTES));
		TEST(untouched(name + NAME_BYTES, 8, 0x5a));
		bytes = 4;
		memset(name, 0x5a, sizeof(name));
		TEST(!fi_av_lookup(port->av, port->peer[i], name, &bytes));
		TEST(bytes == NAME_BYTES);
		TEST(!memcmp(name, port->names[i], 4));
		TEST(untouched(name + 4, NAME_BYTES + 4, 0x5a));
	}
	return 0;
}

static int av_table(void)
{
	static struct port port;

	RUN(port_open(&port, NULL));
	for (int i = 0; i < ranks; i++)
		TEST(port.peer[i] == (fi_addr_t)i);
	RUN(looks_up(&port));
	RUN(one_message(&port, 1));
	return port_close(&port);
}

static int av_map(void)
{
	const struct options options = { .map = true };
	static struct port port;

	RUN(port_open(&port, &options));
	for (int i = 1; i < ranks; i++)
		TEST(port.peer[i] != port.peer[i - 1]);
	RUN(looks_up(&port));
	RUN(one_message(&port, 1));
	return port_close(&port);
}

static int no_send(struct port *port, fi_addr_t to)
{
	struct iovec piece = { .iov_base = port->name, .iov_len = 8 };

	TEST(fi_tsend(port->ep, port->name, 8, NULL, to, 1, NULL) == -FI_EINVAL);
	TEST(fi_send(port->ep, port->name, 8, NULL, to, NULL) == -FI_EINVAL);
	TEST(fi_tinject(port->ep, port->name, 8, to, 1) == -FI_EINVAL);
	TEST(fi_inject(port->ep, port->name, 8, to) == -FI_EINVAL);
	TEST(fi_tsendv(port->ep, &piece, NULL, 1, to, 1, NULL) == -FI_EINVAL);
	TEST(fi_senddata(port->ep, port->name, 8, NULL, 1, to, NULL) == -FI_EINVAL);
	return 0;
}

static int av_remove_one(bool map)
{
	const struct options options = { .map = map };
	uint8_t name[NAME_BYTES];
	size_t bytes = NAME_BYTES;
	static struct port port;

	RUN(port_open(&port, &options));
	RUN(one_message(&port, 1));
	TEST(!fi_av_remove(port.av, &port.peer[right], 1, 0));
	RUN(no_send(&port, port.peer[right]));
	TEST(fi_av_lookup(port.av, port.peer[right], name, &bytes) < 0);
	TEST(fi_av_insert(port.av, port.names[right], 1, &port.peer[right], 0, NULL) == 1);
	RUN(looks_up(&port));
	RUN(one_message(&port, 2));
	RUN(no_send(&port, 12345));
	RUN(no_send(&port, FI_ADDR_UNSPEC));
	TEST(fi_av_remove(port.av, &(fi_addr_t){ 12345 }, 1, 0) < 0);
	return port_close(&port);
}

static int av_remove(void)
{
	RUN(av_remove_one(false));
	return av_remove_one(true);
}

/* No two ranks have the same word where a name has the rank, if a word has it. */
static int rank_word(const struct port *port, size_t *at)
{
	for (*at = 0; *at < NAME_BYTES; *at += 4) {
		bool all = true;

		for (int i = 0; i < ranks; i++) {
			uint32_t word;

			memcpy(&word, port->names[i] + *at, 4);
			all = all && word == (uint32_t)i;
		}
		if (all)
			return 0;
	}
	return 1;
}

static int refused(struct fid_av *av, const uint8_t good[], const uint8_t bad[])
{
	uint8_t names[3 * NAME_BYTES];
	fi_addr_t peer[3] = { 7, 7, 7 };
	int errors[3] = { -1, -1, -1 };

	memcpy(names, good, NAME_BYTES);
	memcpy(names + NAME_BYTES, bad, NAME_BYTES);
	memcpy(names + 2 * NAME_BYTES, good + NAME_BYTES, NAME_BYTES);
	TEST(fi_av_insert(av, names, 3, peer, FI_SYNC_ERR, errors) == 2);
	TEST(peer[0] != FI_ADDR_NOTAVAIL && peer[2] != FI_ADDR_NOTAVAIL);
	TEST(peer[1] == FI_ADDR_NOTAVAIL);
	TEST(!errors[0] && errors[1] && !errors[2]);
	TEST(!fi_av_remove(av, &peer[0], 1, 0));
	TEST(!fi_av_remove(av, &peer[2], 1, 0));
	TEST(fi_av_insert(av, bad, 1, peer, 0, NULL) == 0);
	TEST(peer[0] == FI_ADDR_NOTAVAIL);
	return 0;
}

/* Where the word with the rank is known, ranks that do not exist are in it. */
static int refused_ranks(struct port *port, struct fid_av *av)
{
	const uint32_t wrong[] = { (uint32_t)ranks, 0x7fffffff, 0xffffffff };
	uint8_t bad[NAME_BYTES];
	size_t at;

	if (rank_word(port, &at))
		return 0;
	for (int i = 0; i < 3; i++) {
		memcpy(bad, port->names[0], NAME_BYTES);
		memcpy(bad + at, &wrong[i], 4);
		RUN(refused(av, port->names[0], bad));
	}
	return 0;
}

static int av_refused(void)
{
	uint8_t bad[NAME_BYTES];
	static struct port port;
	struct fid_av *av;

	RUN(port_open(&port, NULL));
	TEST(!av_open(FI_AV_TABLE, &av));
	memset(bad, 0, NAME_BYTES);
	RUN(refused(av, port.names[0], bad));
	memset(bad, 0xff, NAME_BYTES);
	RUN(refused(av, port.names[0], bad));
	for (int i = 0; i < 4; i++) {
		memcpy(bad, port.names[0], NAME_BYTES);
		bad[i] ^= 0x40;
		RUN(refused(av, port.names[0], bad));
	}
	RUN(refused_ranks(&port, av));
	TEST(!fi_close(&av->fid));
	return port_close(&port);
}

/* ---- Endpoints ---- */

static int enable_with(struct fid_av *av, struct fid_cq *queue, uint64_t flags, int expected)
{
	struct fid_ep *ep;
	ssize_t ret;

	TEST(!fi_endpoint(domain, info, &ep, NULL));
	if (av)
		TEST(!fi_ep_bind(ep, &av->fid, 0));
	if (queue)
		TEST(!fi_ep_bind(ep, &queue->fid, flags));
	ret = fi_enable(ep);
	if (ret != expected)
		fprintf(stderr, "# rank %d: fi_enable: %zd, not %d\n", rank, ret, expected);
	TEST(ret == expected);
	if (ret) {
		ret = fi_tsend(ep, &ret, 8, NULL, 0, 1, NULL);
		TEST(ret < 0 && ret != -FI_EAGAIN);
		ret = fi_trecv(ep, &ret, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL);
		TEST(ret < 0 && ret != -FI_EAGAIN);
		ret = fi_tinject(ep, &ret, 8, 0, 1);
		TEST(ret < 0 && ret != -FI_EAGAIN);
	}
	TEST(!fi_close(&ep->fid));
	return 0;
}

static int enabling(void)
{
	struct fid_cq *queue;
	struct fid_av *av;

	TEST(!queue_open(FI_CQ_FORMAT_TAGGED, 0, &queue));
	TEST(!av_open(FI_AV_TABLE, &av));
	RUN(enable_with(NULL, NULL, 0, -FI_ENOAV));
	RUN(enable_with(NULL, queue, FI_TRANSMIT | FI_RECV, -FI_ENOAV));
	RUN(enable_with(av, NULL, 0, -FI_ENOCQ));
	RUN(enable_with(av, queue, FI_TRANSMIT, -FI_ENOCQ));
	RUN(enable_with(av, queue, FI_RECV, -FI_ENOCQ));
	RUN(enable_with(av, queue, FI_TRANSMIT | FI_RECV, 0));
	TEST(!fi_close(&queue->fid));
	TEST(!fi_close(&av->fid));
	return 0;
}

static int insert_backwards(struct port *port, const struct port *other, fi_addr_t peer[])
{
	for (int i = ranks - 1; i >= 0; i--)
		TEST(fi_av_insert(port->av, other->names[i], 1, &peer[i], 0, NULL) == 1);
	return 0;
}

/* The same tag in both endpoints, each of which sends to its like */
static int alongside(struct port *one, struct port *two)
{
	unsigned int sent[2] = { 100u + (unsigned int)rank, 200u + (unsigned int)rank };
	unsigned int got[2] = { 0 };
	struct done done[4] = { 0 };

	TEST(!receive_tagged(one, ANY, &got[0], 4, 5, 0, &done[0]));
	TEST(!receive_tagged(two, ANY, &got[1], 4, 5, 0, &done[1]));
	TEST(!send_tagged(two, right, &sent[1], 4, 5, &done[2]));
	TEST(!send_tagged(one, right, &sent[0], 4, 5, &done[3]));
	TEST(succeeded(done, 4));
	TEST(got[0] == 100u + (unsigned int)left);
	TEST(got[1] == 200u + (unsigned int)left);
	TEST(done[0].from == one->peer[left]);
	TEST(done[1].from == two->peer[left]);
	return 0;
}

static int two_endpoints(void)
{
	const struct options options = { .empty = true };
	static struct port one, two;

	RUN(port_open(&one, NULL));
	RUN(port_open(&two, &options));
	TEST(memcmp(one.name, two.name, NAME_BYTES));
	RUN(insert_backwards(&two, &two, two.peer));
	TEST(meet());
	RUN(alongside(&one, &two));
	RUN(one_message(&two, 9));
	RUN(one_message(&one, 9));
	RUN(port_close(&two));
	RUN(one_message(&one, 10));
	return port_close(&one);
}

/* From the one endpoint to the other of the right, which answers */
static int across(struct port *one, struct port *two, const fi_addr_t one_in_two[],
		  const fi_addr_t two_in_one[])
{
	unsigned int sent = (unsigned int)rank, got[2] = { 0 };
	struct done done[4] = { 0 };

	TEST(!receive_tagged(two, ANY, &got[0], 4, 5, 0, &done[0]));
	TEST(!receive_tagged(one, ANY, &got[1], 4, 6, 0, &done[1]));
	TEST(!RETRY(fi_tsend(one->ep, &sent, 4, NULL, two_in_one[right], 5, &done[2])));
	TEST(succeeded(&done[0], 1));
	TEST(got[0] == (unsigned int)left);
	TEST(done[0].from == one_in_two[left]);
	TEST(!RETRY(fi_tsend(two->ep, &got[0], 4, NULL, done[0].from, 6, &done[3])));
	TEST(succeeded(done, 4));
	TEST(got[1] == (unsigned int)rank);
	TEST(done[1].from == two_in_one[right]);
	return 0;
}

/* An AV has one endpoint of each process. */
static int endpoints_across(void)
{
	const struct options options = { .empty = true };
	fi_addr_t one_in_two[RANKS_MAX], two_in_one[RANKS_MAX], address;
	static struct port one, two;

	RUN(port_open(&one, &options));
	RUN(port_open(&two, &options));
	RUN(insert_backwards(&two, &one, one_in_two));
	RUN(insert_backwards(&one, &two, two_in_one));
	TEST(!fi_av_insert(one.av, one.names[right], 1, &address, 0, NULL));
	TEST(address == FI_ADDR_NOTAVAIL);
	TEST(meet());
	RUN(across(&one, &two, one_in_two, two_in_one));
	RUN(port_close(&two));
	return port_close(&one);
}

static int closing_order(void)
{
	static struct port port;

	RUN(port_open(&port, NULL));
	TEST(fi_close(&domain->fid) == -FI_EBUSY);
	TEST(fi_close(&port.receives->fid) == -FI_EBUSY);
	TEST(fi_close(&port.av->fid) == -FI_EBUSY);
	RUN(one_message(&port, 1));
	return port_close(&port);
}

/* Receives that wait, and a message that nobody receives, go with the endpoint. */
static int closing_early(void)
{
	uint64_t word[4] = { 0 };
	struct done done[4] = { 0 };
	static struct port port;

	for (int round = 0; round < 3; round++) {
		RUN(port_open(&port, NULL));
		for (int i = 0; i < 3; i++)
			TEST(!receive_tagged(&port, ANY, &word[i], 8, 77, 0, &done[i]));
		TEST(!send_tagged(&port, right, &word[3], 8, 1, &done[3]));
		TEST(succeeded(&done[3], 1));
		renew(&done[3]);
		TEST(meet());
		RUN(port_close(&port));
	}
	return 0;
}

/* ---- Bad arguments ---- */

static int bad_sends(struct port *port)
{
	static uint8_t bytes[INJECT_MAX + 1];
	struct iovec pieces[PIECES_MAX + 1];
	fi_addr_t to = port->peer[right];
	const uint64_t bad = 1ull << 63, data = 1ull << 32;

	for (int i = 0; i <= PIECES_MAX; i++)
		pieces[i] = (struct iovec){ .iov_base = bytes, .iov_len = 1 };
	TEST(fi_tinject(port->ep, bytes, INJECT_MAX + 1, to, 1) == -FI_EMSGSIZE);
	TEST(fi_inject(port->ep, bytes, INJECT_MAX + 1, to) == -FI_EMSGSIZE);
	TEST(fi_tinjectdata(port->ep, bytes, INJECT_MAX + 1, 1, to, 1) == -FI_EMSGSIZE);
	TEST(send_flagged(port, right, bytes, INJECT_MAX + 1, 1, FI_INJECT, NULL) == -FI_EMSGSIZE);
	TEST(fi_tsendv(port->ep, pieces, NULL, PIECES_MAX + 1, to, 1, NULL) == -FI_EINVAL);
	TEST(fi_sendv(port->ep, pieces, NULL, PIECES_MAX + 1, to, NULL) == -FI_EINVAL);
	TEST(fi_tsend(port->ep, bytes, 1, NULL, to, bad, NULL) == -FI_EINVAL);
	TEST(fi_tinject(port->ep, bytes, 1, to, bad | 1) == -FI_EINVAL);
	TEST(fi_tsenddata(port->ep, bytes, 1, NULL, 1, to, bad, NULL) == -FI_EINVAL);
	TEST(fi_tsenddata(port->ep, bytes, 1, NULL, data, to, 1, NULL) == -FI_EINVAL);
	TEST(fi_senddata(port->ep, bytes, 1, NULL, data, to, NULL) == -FI_EINVAL);
	TEST(fi_tinjectdata(port->ep, bytes, 1, data, to, 1) == -FI_EINVAL);
	TEST(fi_injectdata(port->ep, bytes, 1, ~0ull, to) == -FI_EINVAL);
	return 0;
}

static int bad_receives(struct port *port)
{
	struct iovec pieces[PIECES_MAX + 1];
	uint8_t bytes[PIECES_MAX + 1];

	for (int i = 0; i <= PIECES_MAX; i++)
		pieces[i] = (struct iovec){ .iov_base = &bytes[i], .iov_len = 1 };
	TEST(fi_trecvv(port->ep, pieces, NULL, PIECES_MAX + 1, FI_ADDR_UNSPEC, 1, 0,
		       NULL) == -FI_EINVAL);
	TEST(fi_recvv(port->ep, pieces, NULL, PIECES_MAX + 1, FI_ADDR_UNSPEC,
		      NULL) == -FI_EINVAL);
	return 0;
}

static int bad_objects(struct port *port)
{
	struct fi_cq_tagged_entry entry;

	TEST(fi_cq_sread(port->receives, &entry, 1, NULL, 0) < 0);
	return 0;
}

static int bad_arguments(void)
{
	static struct port port;

	RUN(port_open(&port, NULL));
	RUN(bad_sends(&port));
	RUN(bad_receives(&port));
	RUN(bad_objects(&port));
	RUN(one_message(&port, (1ull << 63) - 1));
	linger(20);
	TEST(port.entries == 2);
	return port_close(&port);
}

static const struct test tests[] = {
	{ "fi_getinfo without hints tells the provider's attributes", info_plain },
	{ "fi_getinfo with hints within the limits", info_hints },
	{ "fi_getinfo refuses what there is not", info_refused },
	{ "an AV of type TABLE counts from 0 and looks up names", av_table },
	{ "an AV of type MAP", av_map },
	{ "nothing is sent to addresses removed or never inserted", av_remove },
	{ "an AV refuses what is no address", av_refused },
	{ "an endpoint is enabled with an AV and CQs only", enabling },
	{ "two endpoints in a process, each with its own AV", two_endpoints },
	{ "from one endpoint of a process to another of its peer", endpoints_across },
	{ "what is in use does not close", closing_order },
	{ "an endpoint closes with receives posted and messages left", closing_early },
	{ "bad arguments are refused and do no harm", bad_arguments },
};

static const struct suite object_suite = { tests, sizeof(tests) / sizeof(tests[0]) };

int main(void)
{
	static const struct suite *const suites[] = {
		&object_suite,
		&transfer_suite,
		&receive_suite,
		&completion_suite,
		&memory_suite,
		&region_suite,
		&atomic_suite,
		&wait_suite,
	};

	return test_run(suites, sizeof(suites) / sizeof(suites[0])) ||
	       !alone_to_the_end();
}
