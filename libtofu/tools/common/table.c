// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/* Characters on the screen: bytes that do not continue a UTF-8 character. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

static void cell_print(struct tofu_table *table, const char *text)
{
	const struct tofu_column *column = &table->column[table->next];
	int title = text_width(column->title);
	int width = abs(column->width) > title ? abs(column->width) : title;
	int space = width > text_width(text) ? width - text_width(text) : 0;
	bool last = ++table->next == table->columns;

	if (column->title[0] && column->width < 0)
		fprintf(table->out, "%s%*s", text, last ? 0 : space, "");
	else if (column->title[0])
		fprintf(table->out, "%*s%s", space, "", text);
	if (last) {
		fputc('\n', table->out);
		fflush(table->out);
		table->next = 0;
	} else if (column->title[0]) {
		fputs("  ", table->out);
	}
}

void tofu_table_head(struct tofu_table *table)
{
	for (size_t i = 0; i < table->columns; i++)
		cell_print(table, table->column[i].title);
}

void tofu_table_cell(struct tofu_table *table, const char *format, ...)
{
	char text[TOFU_TABLE_CELL];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cell_print(table, text);
}
