/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations on words of other processes: those that the interconnect has,
 * on one word of 4 or 8 bytes at a time.
 */
#define _GNU_SOURCE
#include <string.h>

#include "message.h"

#define FLAGS                                                       \
	(FI_COMPLETION | FI_MORE | FI_INJECT | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/**
 * struct word - an operation on a word
 * @op:     FI_*
 * @compares: a call with a comparison
 * @value, @compare: operands; NULL where @op has none
 * @result: NULL: nobody wants it
 * @quiet:  it completes only if it fails
 */
struct word {
	enum fi_op op;
	enum fi_datatype type;
	bool compares;
	const void *value;
	const void *compare;
	void *result;
	fi_addr_t to;
	uint64_t address;
	uint64_t key;
	uint64_t flags;
	bool quiet;
	void *context;
};

/* ---- What there is ---- */

static size_t type_bytes(enum fi_datatype type)
{
	switch (type) {
	case FI_INT32:
	case FI_UINT32:
		return sizeof(uint32_t);
	case FI_INT64:
	case FI_UINT64:
		return sizeof(uint64_t);
	default:
		return 0;
	}
}

/* Return: false if there is no such operation without a comparison. */
static bool op_find(enum fi_op op, enum utofu_armw_op *found)
{
	static const enum utofu_armw_op ops[] = {
		[FI_SUM] = UTOFU_ARMW_OP_ADD,
		[FI_BOR] = UTOFU_ARMW_OP_OR,
		[FI_BAND] = UTOFU_ARMW_OP_AND,
		[FI_BXOR] = UTOFU_ARMW_OP_XOR,
		/* Adds nothing */
		[FI_ATOMIC_READ] = UTOFU_ARMW_OP_ADD,
		[FI_ATOMIC_WRITE] = UTOFU_ARMW_OP_SWAP,
	};

	if ((size_t)op >= sizeof(ops) / sizeof(*ops) || !ops[op])
		return false;
	*found = ops[op];
	return true;
}

static int atomic_check(bool armw, enum fi_datatype type, enum fi_op op,
			bool compares, bool fetches)
{
	enum utofu_armw_op found;

	if (!armw || !type_bytes(type) ||
	    (compares ? op != FI_CSWAP : !op_find(op, &found)) ||
	    (op == FI_ATOMIC_READ && !fetches))
		return -FI_EOPNOTSUPP;
	return 0;
}

int tofu_fi_query_atomic(struct fid_domain *fid, enum fi_datatype type,
			 enum fi_op op, struct fi_atomic_attr *attr,
			 uint64_t flags)
{
	const struct tofu_fi_domain *domain = (struct tofu_fi_domain *)fid;
	int err;

	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
		return -FI_EBADFLAGS;
	err = atomic_check(domain->armw, type, op, flags & FI_COMPARE_ATOMIC,
			   flags & FI_FETCH_ATOMIC);
	if (err)
		return err;
	attr->size = type_bytes(type);
	attr->count = 1;
	return 0;
}

static int count_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
		       bool compares, bool fetches, size_t *count)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	int err = atomic_check(ep->domain->armw, type, op, compares, fetches);

	if (!err && count)
		*count = 1;
	return err;
}

static int write_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op,
		       size_t *count)
{
	return count_valid(ep, type, op, false, false, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op,
		       size_t *count)
{
	return count_valid(ep, type, op, false, true, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype type,
			 enum fi_op op, size_t *count)
{
	return count_valid(ep, type, op, true, true, count);
}

/* ---- Operations ---- */

static ssize_t check(const struct tofu_fi_ep *ep, const struct word *word)
{
	if (!ep->p2p)
		return -FI_EOPBADSTATE;
	if (!ep->rma)
		return -FI_EOPNOTSUPP;
	if (word->flags & ~FLAGS)
		return -FI_EBADFLAGS;
	if (!tofu_fi_peer(ep->av, word->to) ||
	    (!word->value && word->op != FI_ATOMIC_READ) ||
	    (word->compares && !word->compare))
		return -FI_EINVAL;
	return atomic_check(ep->domain->armw, word->type, word->op,
			    word->compares, word->result);
}

static uint64_t operand(const struct word *word, const void *from)
{
	uint64_t wide = 0;
	uint32_t narrow;

	if (!from || word->op == FI_ATOMIC_READ)
		return 0;
	if (type_bytes(word->type) == sizeof(wide)) {
		memcpy(&wide, from, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, from, sizeof(narrow));
	return narrow;
}

static struct tofu_fi_op *op_make(struct tofu_fi_ep *ep,
				  const struct word *word)
{
	struct tofu_fi_op *op = tofu_fi_op_new(ep);

	if (!op)
		return NULL;
	op->context = word->context;
	op->flags = FI_ATOMIC | (word->result ? FI_READ : FI_WRITE);
	op->buf = NULL;
	op->room = type_bytes(word->type);
	op->quiet = word->quiet;
	return op;
}

static ssize_t post(struct tofu_fi_ep *ep, const struct word *word)
{
	struct tofu_p2p_atomic atomic = {
		.compares = word->compares,
		.bytes = type_bytes(word->type),
		.value = operand(word, word->value),
		.compare = operand(word, word->compare),
		.remote.rank = ep->av->peer[word->to].rank,
		.remote.stadd = word->key + word->address,
		.result = word->result,
	};
	int code = tofu_fi_window(ep->domain, atomic.remote.rank,
				  &atomic.remote.vcq);

	if (code)
		return -tofu_fi_errno(code);
	if (!word->compares)
		op_find(word->op, &atomic.op);
	atomic.context = op_make(ep, word);
	if (!atomic.context)
		return -FI_EAGAIN;
	code = tofu_p2p_post_atomic(ep->p2p, &atomic);
	if (code)
		tofu_fi_op_free(ep, atomic.context);
	return tofu_fi_result(code);
}

static ssize_t run(struct fid_ep *fid, const struct word *word)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	ssize_t err;

	tofu_fi_lock(ep->domain);
	err = check(ep, word);
	if (!err)
		err = post(ep, word);
	tofu_fi_unlock(ep->domain);
	return err;
}

static ssize_t run_plain(struct fid_ep *fid, struct word *word, size_t count)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;

	word->flags |= ep->tx_flags;
	word->quiet = word->quiet || tofu_fi_tx_quiet(ep, ep->tx_flags);
	return count == 1 ? run(fid, word) : -FI_EINVAL;
}

/* Return: whether the lists are of one word each, or are not there. */
static bool word_of(const struct fi_msg_atomic *msg, uint64_t flags,
		    const struct fid_ep *ep, struct word *word)
{
	*word = (struct word){
		.op = msg->op,
		.type = msg->datatype,
		.value = msg->iov_count ? msg->msg_iov[0].addr : NULL,
		.to = msg->addr,
		.flags = flags,
		.quiet = tofu_fi_tx_quiet((const struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};
	if (msg->iov_count > 1 || msg->rma_iov_count != 1 ||
	    msg->rma_iov[0].count != 1 ||
	    (msg->iov_count && msg->msg_iov[0].count != 1))
		return false;
	word->address = msg->rma_iov[0].addr;
	word->key = msg->rma_iov[0].key;
	return true;
}

/* ---- libfabric's calls: with a result, or nowhere to put it ---- */

static ssize_t atomic_fetch(struct fid_ep *ep, const void *buf, size_t count,
			    void *desc, void *result, void *result_desc,
			    fi_addr_t to, uint64_t address, uint64_t key,
			    enum fi_datatype type, enum fi_op op, void *context)
{
	struct word word = {
		.op = op,
		.type = type,
		.value = buf,
		.result = result,
		.to = to,
		.address = address,
		.key = key,
		.context = context,
	};

	(void)desc;
	(void)result_desc;
	return run_plain(ep, &word, count);
}

/* ---- Without a result ---- */

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count,
			    void *desc, fi_addr_t to, uint64_t address,
			    uint64_t key, enum fi_datatype type, enum fi_op op,
			    void *context)
{
	return atomic_fetch(ep, buf, count, desc, NULL, NULL, to, address, key,
			    type, op, context);
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov,
			     void **desc, size_t count, fi_addr_t to,
			     uint64_t address, uint64_t key,
			     enum fi_datatype type, enum fi_op op,
			     void *context)
{
	(void)desc;
	return count == 1 ? atomic_write(ep, iov[0].addr, iov[0].count, NULL,
					 to, address, key, type, op, context) :
			    -FI_EINVAL;
}

static ssize_t atomic_writemsg(struct fid_ep *ep,
			       const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct word word;

	return word_of(msg, flags, ep, &word) ? run(ep, &word) : -FI_EINVAL;
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count,
			     fi_addr_t to, uint64_t address, uint64_t key,
			     enum fi_datatype type, enum fi_op op)
{
	struct word word = {
		.op = op,
		.type = type,
		.value = buf,
		.to = to,
		.address = address,
		.key = key,
		.quiet = true,
	};

	return run_plain(ep, &word, count);
}

/* ---- With a result, in other forms ---- */

static ssize_t atomic_fetchv(struct fid_ep *ep, const struct fi_ioc *iov,
			     void **desc, size_t count, struct fi_ioc *results,
			     void **result_desc, size_t result_count,
			     fi_addr_t to, uint64_t address, uint64_t key,
			     enum fi_datatype type, enum fi_op op,
			     void *context)
{
	(void)desc;
	(void)result_desc;
	if (count > 1 || result_count != 1 || results[0].count != 1)
		return -FI_EINVAL;
	return atomic_fetch(ep, count ? iov[0].addr : NULL, 1, NULL,
			    results[0].addr, NULL, to, address, key, type, op,
			    context);
}

static ssize_t atomic_fetchmsg(struct fid_ep *ep,
			       const struct fi_msg_atomic *msg,
			       struct fi_ioc *results, void **result_desc,
			       size_t result_count, uint64_t flags)
{
	struct word word;

	(void)result_desc;
	if (!word_of(msg, flags, ep, &word) || result_count != 1 ||
	    results[0].count != 1)
		return -FI_EINVAL;
	word.result = results[0].addr;
	return run(ep, &word);
}

/* ---- With a comparison ---- */

static ssize_t atomic_compare(struct fid_ep *ep, const void *buf, size_t count,
			      void *desc, const void *compare,
			      void *compare_desc, void *result,
			      void *result_desc, fi_addr_t to,
			      uint64_t address, uint64_t key,
			      enum fi_datatype type, enum fi_op op,
			      void *context)
{
	struct word word = {
		.op = op,
		.type = type,
		.value = buf,
		.compares = true,
		.compare = compare,
		.result = result,
		.to = to,
		.address = address,
		.key = key,
		.context = context,
	};

	(void)desc;
	(void)compare_desc;
	(void)result_desc;
	return run_plain(ep, &word, count);
}

static ssize_t atomic_comparev(struct fid_ep *ep, const struct fi_ioc *iov,
			       void **desc, size_t count,
			       const struct fi_ioc *compares,
			       void **compare_desc, size_t compare_count,
			       struct fi_ioc *results, void **result_desc,
			       size_t result_count, fi_addr_t to,
			       uint64_t address, uint64_t key,
			       enum fi_datatype type, enum fi_op op,
			       void *context)
{
	(void)desc;
	(void)compare_desc;
	(void)result_desc;
	if (count != 1 || compare_count != 1 || result_count != 1 ||
	    results[0].count != 1 || compares[0].count != 1)
		return -FI_EINVAL;
	return atomic_compare(ep, iov[0].addr, iov[0].count, NULL,
			      compares[0].addr, NULL, results[0].addr, NULL,
			      to, address, key, type, op, context);
}

static ssize_t atomic_comparemsg(struct fid_ep *ep,
				 const struct fi_msg_atomic *msg,
				 const struct fi_ioc *compares,
				 void **compare_desc, size_t compare_count,
				 struct fi_ioc *results, void **result_desc,
				 size_t result_count, uint64_t flags)
{
	struct word word;

	(void)compare_desc;
	(void)result_desc;
	if (!word_of(msg, flags, ep, &word) || compare_count != 1 ||
	    result_count != 1 || results[0].count != 1 ||
	    compares[0].count != 1)
		return -FI_EINVAL;
	word.compares = true;
	word.compare = compares[0].addr;
	word.result = results[0].addr;
	return run(ep, &word);
}

struct fi_ops_atomic tofu_fi_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_fetch,
	.readwritev = atomic_fetchv,
	.readwritemsg = atomic_fetchmsg,
	.compwrite = atomic_compare,
	.compwritev = atomic_comparev,
	.compwritemsg = atomic_comparemsg,
	.writevalid = write_valid,
	.readwritevalid = fetch_valid,
	.compwritevalid = compare_valid,
};
