// SPDX-License-Identifier: MIT
/* The account of an endpoint's memory. */
#include "p2p/account.h"

#include <stdlib.h>
#include <string.h>

/* Boundary of regions: nothing else is registered with them. */
#define ALIGN 256

/* Bytes of a class that are in use or reserved */
static size_t bound_of(const struct p2p_account *account, enum p2p_class of)
{
	return account->used[of] > account->floor[of] ? account->used[of] :
							account->floor[of];
}

/* Bytes of the limit that taking these would bind in addition */
static size_t bound_more(const struct p2p_account *account, enum p2p_class of,
			 size_t bytes)
{
	size_t bound = bound_of(account, of), used = account->used[of] + bytes;

	return used > bound ? used - bound : 0;
}

bool p2p_account_fits(const struct p2p_account *account, enum p2p_class of,
		      size_t bytes)
{
	return bytes <= account->cap[of] - account->used[of] &&
	       bound_more(account, of, bytes) <=
		       account->limit - account->bound;
}

size_t p2p_account_room(const struct p2p_account *account, enum p2p_class of)
{
	size_t own = account->cap[of] - account->used[of];
	size_t all = bound_of(account, of) - account->used[of] +
		     account->limit - account->bound;

	return own < all ? own : all;
}

bool p2p_account_take(struct p2p_account *account, enum p2p_class of,
		      size_t bytes)
{
	if (!p2p_account_fits(account, of, bytes))
		return false;
	account->bound += bound_more(account, of, bytes);
	account->used[of] += bytes;
	account->all += bytes;
	if (account->all > account->peak)
		account->peak = account->all;
	return true;
}

void p2p_account_give(struct p2p_account *account, enum p2p_class of,
		      size_t bytes)
{
	size_t bound = bound_of(account, of);

	account->used[of] -= bytes;
	account->all -= bytes;
	account->bound -= bound - bound_of(account, of);
}

void *p2p_memory(size_t bytes)
{
	void *memory;

	if (posix_memalign(&memory, ALIGN, bytes))
		return NULL;
	memset(memory, 0, bytes);
	return memory;
}

void *p2p_allocate(struct p2p_account *account, enum p2p_class of,
		   size_t bytes)
{
	void *memory;

	if (!p2p_account_take(account, of, bytes))
		return NULL;
	memory = p2p_memory(bytes);
	if (!memory)
		p2p_account_give(account, of, bytes);
	return memory;
}

void p2p_free(struct p2p_account *account, enum p2p_class of, void *memory,
	      size_t bytes)
{
	if (!memory)
		return;
	free(memory);
	p2p_account_give(account, of, bytes);
}
