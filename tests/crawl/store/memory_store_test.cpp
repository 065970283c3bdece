// SPDX-License-Identifier: MIT
// What only the store in memory does; store_test.cpp has what it shares with the others.

#include <weir/crawl/memory_store.hpp>

#include <gtest/gtest.h>

namespace memory_store_test {

using namespace weir::crawl;

TEST(CrawlMemoryStore, AnIdentityThatDiffersIsNamed) {
    EXPECT_NO_THROW(check_identity("scope host\n", "scope host\n"));
    try {
        check_identity("scope host\nagent a\n", "scope all\nagent a\nexclude x\n");
        FAIL();
    } catch (const store_error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("it had 'scope host', this run has 'scope all', 'exclude x'"),
                  std::string::npos)
            << text;
    }
}

}  // namespace memory_store_test
