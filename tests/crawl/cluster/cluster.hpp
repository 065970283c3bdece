// SPDX-License-Identifier: MIT
// Several crawlers on one schema of a PostgreSQL server, each with a store of its own, and a web
// that counts what all of them request.
#pragma once

#include <crawl/engine/support.hpp>
#include <support/peers/pgbouncer.hpp>
#include <support/peers/postgres.hpp>

#include <weir/crawl/postgres_store.hpp>
#include <weir/crawl/shared_crawl.hpp>
#include <weir/db/pg/database.hpp>
#include <weir/gather.hpp>
#include <weir/group.hpp>
#include <weir/run.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace crawl_cluster_test {

using namespace crawl_test;

// A schema of its own for each test.
inline std::string fresh_schema() {
    static std::atomic<int> number = 0;
    return "crawl_" + std::to_string(++number);
}

inline postgres_store_options node_options(const std::string& schema, const std::string& node) {
    postgres_store_options options;
    options.url = weir_test::shared_postgres().url();
    options.schema = schema;
    options.node = node;
    return options;
}

struct node {
    std::unique_ptr<store> state;
    std::unique_ptr<crawler> work;
};

inline task<std::unique_ptr<node>> make_node(const crawl_options& options, simulated_web& web,
                                             postgres_store_options how) {
    auto made = std::make_unique<node>();
    made->state = co_await open_postgres_store(std::move(how));
    made->work = std::make_unique<crawler>(options, web, *made->state);
    co_return made;
}

// Each host 'http://hN.test' has pages '/0' to '/count-1', with links to pages of its own and of
// the next host.
inline void add_hosts(simulated_web& web, int hosts, int count, weir::clock::duration delay) {
    for (int host = 0; host < hosts; ++host) {
        const std::string here = "http://h" + std::to_string(host) + ".test/";
        const std::string next = "http://h" + std::to_string((host + 1) % hosts) + ".test/";
        for (int i = 0; i < count; ++i) {
            std::vector<std::string> links;
            for (int k = 1; k <= 3; ++k) {
                links.push_back(here + std::to_string((3 * i + k) % count));
                links.push_back(next + std::to_string((5 * i + k) % count));
            }
            web.set(here + std::to_string(i), answer(links_to(links)).after(delay));
        }
    }
}

inline crawl_options cluster_options(int hosts) {
    crawl_options options = fast();
    for (int host = 0; host < hosts; ++host) {
        options.seeds.push_back("http://h" + std::to_string(host) + ".test/0");
    }
    options.per_host = 2;
    return options;
}

inline void expect_each_once(const simulated_web& web) {
    for (const auto& [url, count] : web.counts()) {
        EXPECT_EQ(count, 1) << url;
    }
}

inline void expect_robots_once(const simulated_web& web, int hosts) {
    for (int host = 0; host < hosts; ++host) {
        const std::string url = "http://h" + std::to_string(host) + ".test/robots.txt";
        EXPECT_EQ(web.count(url), 1) << url;
    }
}

}  // namespace crawl_cluster_test
