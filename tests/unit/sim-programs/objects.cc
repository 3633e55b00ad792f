// SPDX-License-Identifier: MIT
/* Objects with constructors and destructors, streams, and exceptions. */

#include "nodes.h"

#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

class Named {
public:
	explicit Named(const char *name) : name(name) {}
	~Named() { tofu_test_note(name.c_str()); }
	std::string name;
};

static Named named("a long name that is not kept in the object itself");
static std::map<int, std::string> words;
static thread_local std::string local = "thread";

static Named &later()
{
	static Named object("later ");

	return object;
}

static void fail(int node)
{
	throw std::runtime_error("node " + std::to_string(node));
}

static int objects()
{
	int node = tofu_test_node();
	std::ostringstream stream;

	CHECK(words.empty() && local == "thread");
	words[node] = "own";
	local += std::to_string(node);
	later().name += std::to_string(node) + " ";
	tofu_test_turn();
	CHECK(words.size() == 1 && words.begin()->first == node);
	CHECK(local == "thread" + std::to_string(node));
	try {
		fail(node);
	} catch (const std::exception &error) {
		tofu_test_turn();
		stream << error.what();
		CHECK(std::uncaught_exceptions() == 0);
		CHECK(std::current_exception() != nullptr);
	}
	CHECK(stream.str() == "node " + std::to_string(node));
	std::cout << "# " << stream.str() << std::endl;
	return 0;
}

int main()
{
	int status = objects();

	return status ? status : tofu_test_node();
}
