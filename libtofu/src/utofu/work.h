/* SPDX-License-Identifier: MIT */
/* Counting work, for the layers above. */
#ifndef UTOFU_WORK_H
#define UTOFU_WORK_H

#include "port/work.h"

#endif /* UTOFU_WORK_H */
