// SPDX-License-Identifier: MIT
/* Knows nothing of the library. */
int main(void)
{
	return 0;
}
