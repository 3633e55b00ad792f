/* SPDX-License-Identifier: MIT */
/*
 * Tables for people, printed row by row as results come in, so the widths of
 * the columns are given beforehand. A cell that is too long shifts its row and
 * is never cut.
 */
#ifndef TOFU_TOOLS_TABLE_H
#define TOFU_TOOLS_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOFU_TABLE_CELL 256 /* bytes of a cell, with its NUL */

/**
 * struct tofu_column - of a table
 * @title: heading; a column with an empty one is left out
 * @width: at least; a longer title widens it. Negative: to the left.
 */
struct tofu_column {
	const char *title;
	int width;
};

/**
 * struct tofu_table - a table being printed
 * @out:     where to
 * @column:  the columns
 * @columns: count
 * @next:    column of the next cell
 */
struct tofu_table {
	FILE *out;
	const struct tofu_column *column;
	size_t columns;
	size_t next;
};

/* tofu_table_head - the line of titles */
void tofu_table_head(struct tofu_table *table);

/* tofu_table_cell - the next cell; after the last of a row the line ends */
void tofu_table_cell(struct tofu_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TOFU_TOOLS_TABLE_H */
