// SPDX-License-Identifier: MIT
// How work on a database has ended, in words, and waiting for what the server says.
#pragma once

#include <support/io.hpp>
#include <support/peers/postgres.hpp>

#include <weir/db/pg/database.hpp>
#include <weir/gather.hpp>
#include <weir/group.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace pg_test {

using namespace weir;
using namespace std::chrono_literals;
using weir::testing::fault_proxy;
using detail_call = pg::detail::rows_call;

// "answered", "lost, if harmless", "lost, try again", "late", the SQLSTATE or what else was said.
template <class Work>
task<std::string> outcome_of(Work work) {
    try {
        static_cast<void>(co_await std::move(work));
        co_return "answered";
    } catch (const pg::connection_error& error) {
        switch (error.advice()) {
            case db::retry_advice::yes:
                co_return "lost, try again";
            case db::retry_advice::if_harmless:
                co_return "lost, if harmless";
            case db::retry_advice::no:
                break;
        }
        co_return error.what();
    } catch (const pg::error& error) {
        co_return error.sqlstate().empty() ? std::string(error.what())
                                           : std::string(error.sqlstate());
    } catch (const timed_out&) {
        co_return "late";
    } catch (const std::exception& error) {
        co_return error.what();
    }
}
inline task<std::string> outcome_of(task<> work) {
    const auto run = [](task<> inner) -> task<int> {
        co_await std::move(inner);
        co_return 0;
    };
    return outcome_of<task<int>>(run(std::move(work)));
}

// Until the query gives true.
inline task<> until(pg::database& database, std::string sql) {
    for (;;) {
        const auto found = co_await database.query(sql);
        if (found.one<bool>()) {
            co_return;
        }
        co_await sleep(2ms);
    }
}

inline bool is_stress() {
    return std::getenv("WEIR_STRESS") != nullptr;
}

}  // namespace pg_test
