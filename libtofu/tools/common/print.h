/* SPDX-License-Identifier: MIT */
/* The end of what a tool prints. */
#ifndef TOFU_TOOLS_PRINT_H
#define TOFU_TOOLS_PRINT_H

/**
 * tofu_print_end - write out what was printed to standard output
 *
 * Exits with a sentence if not all of it could be written, as on a full disk.
 */
void tofu_print_end(void);

#endif /* TOFU_TOOLS_PRINT_H */
