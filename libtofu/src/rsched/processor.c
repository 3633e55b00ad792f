// SPDX-License-Identifier: MIT
/*
 * The processor's share of an exchange. It posts the puts of one engine after
 * the other, then polls all engines until it has a notice for each put.
 */
#include "rsched/internal.h"

struct tofu_rsched_starts
tofu_rsched_starts(const struct tofu_rsched_work *work,
		   const struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_model *model = &work->model;
	struct tofu_rsched_starts starts = { 0 };
	uint64_t puts[TOFU_RSCHED_ENGINES_MAX] = { 0 };
	uint64_t now = 0;

	for (size_t i = 0; i < work->count; i++) {
		const uint32_t engine = draft->place[i].engine;

		puts[engine]++;
		if (engine >= starts.engines)
			starts.engines = engine + 1;
	}
	for (unsigned int e = 0; e < starts.engines; e++) {
		now += model->start_ns + puts[e] * model->post_ns;
		starts.at[e] = now;
	}
	return starts;
}

void tofu_rsched_by_engine(struct tofu_rsched_work *work,
			   const struct tofu_rsched_draft *draft)
{
	for (size_t i = 0; i < work->count; i++)
		work->key[i] = (struct tofu_rsched_key){
			.major = draft->place[i].engine,
			.minor = draft->place[i].begin_ns,
			.index = i,
		};
	tofu_rsched_sort(work->key, work->count);
}

bool tofu_rsched_collect(struct tofu_rsched_work *work,
			 const struct tofu_rsched_starts *starts,
			 struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_model *model = &work->model;
	const uint64_t polls = (uint64_t)model->poll_ns * starts->engines;
	uint64_t now;

	if (!work->count)
		return true;
	if (draft->end + model->latency_ns + model->notice_ns + polls >=
	    work->limit)
		return false;
	for (size_t i = 0; i < work->count; i++)
		work->key[i] = (struct tofu_rsched_key){
			.major = draft->place[i].end_ns,
			.index = i,
		};
	tofu_rsched_sort(work->key, work->count);
	/* Puts come while others are posted; notices wait until that is done. */
	now = starts->at[starts->engines - 1];
	for (size_t i = 0; i < work->count; i++) {
		const uint64_t came = work->key[i].major + model->latency_ns;

		now = (came > now ? came : now) + model->notice_ns;
	}
	draft->end = now + polls;
	return draft->end < work->limit;
}
