/* SPDX-License-Identifier: MIT */
/* Which algorithm a collective takes. */
#ifndef COLL_CHOOSE_H
#define COLL_CHOOSE_H

#include "coll/coll.h"

/**
 * coll_choose - set @coll->algorithm, @coll->fallback and @job->segment
 *
 * In virtual time, or for a machine that is named, the model of <tofu/model.h>
 * decides. Elsewhere nothing takes a machine's time, and what counts is how
 * often processes wait for each other and how often bytes are copied.
 *
 * @job: of any member: all choose the same. A segment that was asked for stays.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_ARG for an unknown machine.
 */
int coll_choose(struct tofu_coll *coll, struct coll_job *job);

#endif /* COLL_CHOOSE_H */
