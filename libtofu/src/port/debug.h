/* SPDX-License-Identifier: MIT */
#ifndef PORT_DEBUG_H
#define PORT_DEBUG_H

/**
 * tofu_debug - print a line to standard error if TOFU_DEBUG is set
 *
 * For reasons that a return code cannot express. Never on the data path.
 */
void tofu_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* PORT_DEBUG_H */
