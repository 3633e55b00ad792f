/* SPDX-License-Identifier: MIT */
/* Which algorithm a collective takes. */
#ifndef COLL_CHOOSE_H
#define COLL_CHOOSE_H

#include "coll/coll.h"

/**
 * coll_choose - set @coll->algorithm, and @coll->fallback
 * @job: of any member: all choose the same
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_ARG for an unknown machine.
 */
int coll_choose(struct tofu_coll *coll, const struct coll_job *job);

#endif /* COLL_CHOOSE_H */
