/* SPDX-License-Identifier: MIT */
/* What there is, and whether it is what a program asks for. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define MSG_ORDER FI_ORDER_SAS

/* Tags without structure: each bit is a field of its own */
#define TAG_FORMAT (0x5555555555555555ULL & TOFU_FI_TAGS)

/* Flags of operations that mean something here */
#define TX_FLAGS                                                                 \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE)
#define RX_FLAGS (FI_COMPLETION | FI_MORE | FI_MULTI_RECV)

#define TX_CAPS \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS                                                          \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV |             \
	 FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE)

/* Pieces of another process's memory */
#define RMA_IOV 1

/* Without any of them, a program has all. */
#define RMA_KINDS (TOFU_FI_RMA & ~FI_RMA)

/* What a program has to do for its memory: pages are pinned, keys are STADDs. */
#define MR_MODE (FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/* ---- What is asked for ---- */

static bool asks_more(uint64_t wanted, uint64_t there)
{
	return wanted & ~there;
}

static bool tx_fits(const struct fi_tx_attr *tx)
{
	return !tx ||
	       (!asks_more(tx->caps, TX_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM) &&
		!asks_more(tx->op_flags, TX_FLAGS) &&
		!asks_more(tx->msg_order, MSG_ORDER) && !tx->comp_order &&
		tx->inject_size <= TOFU_FI_INJECT && tx->size <= TOFU_FI_SIZE &&
		tx->iov_limit <= TOFU_FI_IOV &&
		tx->rma_iov_limit <= RMA_IOV);
}

static bool rx_fits(const struct fi_rx_attr *rx)
{
	return !rx ||
	       (!asks_more(rx->caps, RX_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM) &&
		!asks_more(rx->op_flags, RX_FLAGS) &&
		!asks_more(rx->msg_order, MSG_ORDER) && !rx->comp_order &&
		rx->size <= TOFU_FI_SIZE && rx->iov_limit <= TOFU_FI_IOV);
}

static bool ep_fits(const struct fi_ep_attr *ep)
{
	return !ep || ((ep->type == FI_EP_UNSPEC || ep->type == FI_EP_RDM) &&
		       ep->protocol == FI_PROTO_UNSPEC &&
		       ep->tx_ctx_cnt <= 1 && ep->rx_ctx_cnt <= 1 &&
		       !asks_more(ep->mem_tag_format, TOFU_FI_TAGS) &&
		       !ep->auth_key_size);
}

static bool domain_fits(const struct fi_domain_attr *domain)
{
	return !domain || ((!domain->name || !strcmp(domain->name, TOFU_FI_NAME)) &&
			   domain->cq_data_size <= TOFU_FI_DATA &&
			   !asks_more(domain->caps, FI_LOCAL_COMM | FI_REMOTE_COMM) &&
			   !domain->auth_key_size);
}

static bool fabric_fits(const struct fi_fabric_attr *fabric)
{
	return !fabric || !fabric->name || !strcmp(fabric->name, TOFU_FI_NAME);
}

/*
 * How a program has to treat memory that others touch. As libfabric wants it, the
 * program's own wish is kept where both ways are possible: addresses.
 *
 * Return: 0 if it does not do what is necessary.
 */
static int mr_mode(const struct fi_info *hints)
{
	int can;

	if (!hints || !hints->domain_attr)
		return hints ? 0 : MR_MODE | FI_MR_VIRT_ADDR;
	can = hints->domain_attr->mr_mode;
	if (can & FI_MR_BASIC)
		return FI_MR_BASIC;
	return (can & MR_MODE) == MR_MODE ? MR_MODE | (can & FI_MR_VIRT_ADDR) :
					    0;
}

/*
 * Only the machine knows whether it has atomics, and asking makes this process a
 * part of it: so that is asked only where it matters, and once.
 */
static bool atomics_asked;
static pthread_once_t atomics_once = PTHREAD_ONCE_INIT;

static void atomics_ask(void)
{
	atomics_asked = tofu_fi_has_atomics();
}

static uint64_t caps_possible(const struct fi_info *hints)
{
	if (!mr_mode(hints))
		return TOFU_FI_MESSAGES;
	if (hints && hints->caps && !(hints->caps & FI_ATOMIC))
		return TOFU_FI_MESSAGES | TOFU_FI_RMA;
	pthread_once(&atomics_once, atomics_ask);
	return TOFU_FI_MESSAGES | TOFU_FI_RMA |
	       (atomics_asked ? TOFU_FI_ATOMIC : 0);
}

static bool fits(const struct fi_info *hints)
{
	return !hints ||
	       (!asks_more(hints->caps, caps_possible(hints)) &&
		(hints->addr_format == FI_FORMAT_UNSPEC ||
		 hints->addr_format == TOFU_FI_FORMAT) &&
		tx_fits(hints->tx_attr) && rx_fits(hints->rx_attr) &&
		ep_fits(hints->ep_attr) && domain_fits(hints->domain_attr) &&
		fabric_fits(hints->fabric_attr));
}

/*
 * Where no job of Tofu runs, and nobody asks by name, others are chosen: a
 * program that knows nothing of Tofu takes what comes first.
 */
static bool is_wanted(const struct fi_info *hints)
{
	static const char *const job[] = { "TOFU_FABRIC", "TOFU_RANK",
					   "TOFU_NODE" };
	const char *by_user = getenv("FI_PROVIDER");

	for (size_t i = 0; i < sizeof(job) / sizeof(job[0]); i++)
		if (getenv(job[i]))
			return true;
	return (by_user && strstr(by_user, TOFU_FI_NAME)) ||
	       (hints && hints->fabric_attr && hints->fabric_attr->prov_name &&
		strstr(hints->fabric_attr->prov_name, TOFU_FI_NAME));
}

/* ---- What there is ---- */

static uint64_t caps_of(const struct fi_info *hints)
{
	const uint64_t always =
		FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
	uint64_t caps = hints ? hints->caps : 0;

	if (!caps)
		return caps_possible(hints);
	if (caps & (FI_RMA | FI_ATOMIC) && !(caps & RMA_KINDS))
		caps |= RMA_KINDS;
	return caps | always;
}

static void contexts_fill(struct fi_info *info, const struct fi_info *hints)
{
	*info->tx_attr = (struct fi_tx_attr){
		.caps = info->caps & TX_CAPS,
		.msg_order = MSG_ORDER,
		.inject_size = TOFU_FI_INJECT,
		.size = TOFU_FI_SIZE,
		.iov_limit = TOFU_FI_IOV,
		.rma_iov_limit =
			info->caps & (FI_RMA | FI_ATOMIC) ? RMA_IOV : 0,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = info->caps & RX_CAPS,
		.msg_order = MSG_ORDER,
		.size = TOFU_FI_SIZE,
		.iov_limit = TOFU_FI_IOV,
	};
	if (hints && hints->tx_attr)
		info->tx_attr->op_flags = hints->tx_attr->op_flags;
	if (hints && hints->rx_attr)
		info->rx_attr->op_flags = hints->rx_attr->op_flags;
}

static void domain_fill(struct fi_domain_attr *domain,
			const struct fi_domain_attr *hints)
{
	domain->threading = hints && hints->threading ? hints->threading :
							FI_THREAD_SAFE;
	/* What ends with its call needs no progress. */
	domain->control_progress = hints && hints->control_progress ?
					   hints->control_progress :
					   FI_PROGRESS_MANUAL;
	domain->data_progress = hints && hints->data_progress ?
					hints->data_progress :
					FI_PROGRESS_MANUAL;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = hints && hints->av_type ? hints->av_type :
						    FI_AV_TABLE;
	domain->mr_key_size = sizeof(uint64_t);
	domain->mr_cnt = 4096;
	domain->mr_iov_limit = 1;
	domain->cntr_cnt = 256;
	domain->cq_data_size = TOFU_FI_DATA;
	domain->cq_cnt = 256;
	domain->ep_cnt = 8;
	domain->tx_ctx_cnt = 8;
	domain->rx_ctx_cnt = 8;
	domain->max_ep_tx_ctx = 1;
	domain->max_ep_rx_ctx = 1;
	domain->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

static bool names_fill(struct fi_info *info)
{
	info->domain_attr->name = strdup(TOFU_FI_NAME);
	info->fabric_attr->name = strdup(TOFU_FI_NAME);
	return info->domain_attr->name && info->fabric_attr->name;
}

static struct fi_info *info_make(uint32_t version, const struct fi_info *hints)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->caps = caps_of(hints);
	info->addr_format = TOFU_FI_FORMAT;
	contexts_fill(info, hints);
	domain_fill(info->domain_attr, hints ? hints->domain_attr : NULL);
	if (info->caps & (FI_RMA | FI_ATOMIC))
		info->domain_attr->mr_mode = mr_mode(hints);
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol_version = 1;
	info->ep_attr->max_msg_size = SIZE_MAX / 2;
	info->ep_attr->mem_tag_format = TAG_FORMAT;
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = 1;
	/* The library fills in the provider's name. */
	info->fabric_attr->prov_version = tofu_fi_provider.version;
	info->fabric_attr->api_version = version;
	if (names_fill(info))
		return info;
	fi_freeinfo(info);
	return NULL;
}

int tofu_fi_getinfo(uint32_t version, const char *node, const char *service,
		    uint64_t flags, const struct fi_info *hints,
		    struct fi_info **info)
{
	(void)node;
	(void)service;
	(void)flags;
	if (!is_wanted(hints) || !fits(hints))
		return -FI_ENODATA;
	*info = info_make(version, hints);
	return *info ? 0 : -FI_ENOMEM;
}
