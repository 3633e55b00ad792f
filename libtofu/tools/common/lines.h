/* SPDX-License-Identifier: MIT */
/* Text files that people write, or other programs for people. */
#ifndef TOFU_TOOLS_LINES_H
#define TOFU_TOOLS_LINES_H

/**
 * typedef tofu_line_fn - take a line
 * @where: names it, for messages: FILE:NUMBER
 * @line:  without its comment; may be written to
 */
typedef void tofu_line_fn(void *context, const char *where, char *line);

/* Separators between the words of a line */
#define TOFU_LINE_BLANKS " \t\r\n"

/**
 * tofu_lines_read - call @take for every line of a file that has a word
 * @name: of the file, or "-" for standard input
 *
 * A # begins a comment. Exits with a sentence if the file cannot be read.
 */
void tofu_lines_read(const char *name, tofu_line_fn *take, void *context);

#endif /* TOFU_TOOLS_LINES_H */
