// SPDX-License-Identifier: MIT
// The store as one node reaches it, over a connection with faults. A call that its caller has given
// up reaches the store all the same, unless it was lost.
#pragma once

#include "environment.hpp"
#include "service/engine/process.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace weir::service::testing {

struct weather {
    double fails = 0;       // before the store
    double hangs = 0;       // before the store
    double loses = 0;       // the answer: told at once
    double hangs_late = 0;  // the answer: never told
    double slow = 0;        // seconds, each way
    bool cuts_questions = false;
    bool cuts_answers = false;
};

class faulty_store final : public process {
public:
    faulty_store(environment& in, std::size_t number)
        : process(*in.reached), world_(in), random_(in.random.split(number)), number_(number) {
        deliver_always();
    }

    weather now;

    task<heartbeat_answer> heartbeat(node_record node, moment at) override {
        if (world_.is_cluster) {
            node.host = "machine " + std::to_string(number_);
            node.pid = 1;
        }
        world_.number_of(node.id);
        heartbeat_answer answer = co_await process::heartbeat(std::move(node), at);
        is_registered_ = true;
        co_return answer;
    }
    // A heartbeat was answered, so the node has the store's clock.
    bool is_registered() const noexcept { return is_registered_ && !is_dead(); }
    task<std::vector<node_record>> nodes() override {
        std::vector<node_record> all = co_await process::nodes();
        std::ranges::sort(all, {},
                          [this](const node_record& each) { return world_.number_of(each.id); });
        co_return all;
    }
    task<std::vector<bool>> settle(std::string_view node, std::vector<settlement> ended,
                                   moment at) override {
        std::vector<std::pair<run_key, task_state>> runs;
        for (const settlement& each : ended) {
            runs.emplace_back(each.key, each.state);
        }
        std::vector<bool> written = co_await process::settle(node, std::move(ended), at);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            world_.referee.settled(runs[i].first, runs[i].second, written.at(i));
        }
        co_return written;
    }

private:
    static constexpr clock::duration lost_for = 40s;  // longer than any caller waits

    task<> reach_store(store_call) override {
        ++world_.calls;
        return go(now.cuts_questions || world_.is_away, now.fails, now.hangs);
    }
    task<> reach_caller(store_call) override {
        return go(now.cuts_answers, now.loses, now.hangs_late);
    }
    task<> go(bool is_cut, double fails, double hangs) {
        if (is_dead()) {
            co_await sleep_forever();
        }
        if (!world_.is_calm) {
            if (random_.chance(fails) || (is_cut && random_.one_in(3))) {
                co_await sleep(random_.between(1ms, 20ms));
                throw store_unavailable("the connection was reset");
            }
            if (is_cut || random_.chance(hangs)) {
                co_await sleep(lost_for);
                throw store_unavailable("the connection has timed out");
            }
        }
        const bool is_slow = !world_.is_calm && random_.chance(now.slow);
        co_await sleep(is_slow ? random_.between(200ms, random_.one_in(4) ? 25s : 6s)
                               : random_.between(100us, 2ms));
        if (is_dead()) {
            co_await sleep_forever();
        }
    }

    environment& world_;
    dice random_;
    const std::size_t number_;
    bool is_registered_ = false;
};

}  // namespace weir::service::testing
