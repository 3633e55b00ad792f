// SPDX-License-Identifier: MIT
// C++ on each node: objects with constructors, exceptions, a container.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <utofu.h>

namespace
{

struct Counted {
	int value;
	Counted() : value(7) {}
	~Counted() { std::printf("destroyed at %d\n", value); }
};

Counted counted;

void poll()
{
	utofu_vcq_hdl_t vcq;
	void *cbdata;

	if (utofu_create_vcq(0, 0, &vcq))
		throw std::runtime_error("no VCQ");
	utofu_poll_tcq(vcq, 0, &cbdata);
	utofu_free_vcq(vcq);
}

} // namespace

int main()
{
	std::vector<std::string> words;
	int node = std::atoi(std::getenv("TOFU_RANK"));

	counted.value += node;
	try {
		poll();
		words.push_back("word " + std::to_string(node));
		throw std::runtime_error(words.at(0));
	} catch (const std::exception &error) {
		poll();
		std::printf("%s\n", error.what());
	}
	return counted.value == 7 + node ? 0 : 1;
}
