// SPDX-License-Identifier: MIT
// Every kind and stage has a name of its own that leads back to it.

#include <weir/crawl/page_error.hpp>

#include <gtest/gtest.h>

#include <set>

namespace page_error_test {

using namespace weir::crawl;

TEST(CrawlPageError, NamesLeadBackToTheirKinds) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(error_kind::content); ++i) {
        const auto kind = static_cast<error_kind>(i);
        EXPECT_TRUE(names.insert(name_of(kind)).second) << name_of(kind);
        EXPECT_EQ(error_kind_named(name_of(kind)), kind);
    }
    for (int i = 0; i <= static_cast<int>(fetch_stage::handler); ++i) {
        const auto stage = static_cast<fetch_stage>(i);
        EXPECT_EQ(fetch_stage_named(name_of(stage)), stage);
    }
    EXPECT_FALSE(error_kind_named("http_3xx"));
    EXPECT_FALSE(fetch_stage_named(""));
}

TEST(CrawlPageError, WhatALaterAttemptMayChange) {
    EXPECT_TRUE(is_transient(error_kind::dns));
    EXPECT_TRUE(is_transient(error_kind::http_5xx));
    EXPECT_FALSE(is_transient(error_kind::http_4xx));
    EXPECT_FALSE(is_transient(error_kind::robots));
    EXPECT_FALSE(is_transient(error_kind::none));
}

}  // namespace page_error_test
