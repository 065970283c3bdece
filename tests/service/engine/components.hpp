// SPDX-License-Identifier: MIT
// The components of the engine on a memory store, wired as the service does it; each test runs
// those that it needs.
#pragma once

#include "process.hpp"
#include "service/engine/claimer.hpp"
#include "service/engine/expirer.hpp"
#include "service/engine/rescuer.hpp"
#include "service/engine/scheduler.hpp"
#include "service/engine/sweeper.hpp"

namespace weir::service::testing {

// The connection of this node to the store. Claims can be answered by the test, and the history
// of the store can change.
class scripted_process final : public process {
public:
    using process::process;

    task<claimed> claim(claim_request request) override {
        claim_limits.push_back(request.limit);
        if (answer_claim) {
            co_return answer_claim(request);
        }
        claimed answer;
        if (request.history == 0 || request.history == history) {
            answer = co_await process::claim(request);
        }
        answer.history = history;
        co_return answer;
    }

    std::int64_t history = 0;  // another one: the database has failed over

    std::vector<std::size_t> claim_limits;
    std::function<claimed(const claim_request&)> answer_claim;
};

struct components {
    explicit components(const service_options& settings = {}) : options(settings) {
        options.log = [this](log_level, std::string_view message) {
            messages.emplace_back(message);
        };
    }
    components(const components&) = delete;
    components& operator=(const components&) = delete;

    // A node with a lease that the store knows, without heartbeats.
    task<> register_node() {
        leases.take_first();
        claimer.open();
        co_await leases.register_node();
    }
    task<task_id> submit(new_task fresh) {
        std::vector<new_task> batch(1, std::move(fresh));
        const std::vector<submit_result> results =
            co_await memory.submit(std::move(batch), time.now());
        co_return results.at(0).id;
    }
    // So many tasks, of which the last is returned.
    task<task_id> submit(int count, std::string kind) {
        task_id last;
        for (int i = 0; i < count; ++i) {
            last = co_await submit(new_task(kind));
        }
        co_return last;
    }
    // Claims one task for this node, as the claimer would.
    task<task_record> claim_one() {
        claim_request request;
        request.node = leases.current().node();
        request.now = time.now();
        claimed answer = co_await memory.claim(request);
        co_return answer.tasks.empty() ? task_record() : std::move(answer.tasks.front());
    }
    service_stats stats() const {
        service_stats all;
        runner.add_to(all);
        settler.add_to(all);
        rescuer.add_to(all);
        scheduler.add_to(all);
        return all;
    }
    std::size_t logged(std::string_view text) const {
        std::size_t count = 0;
        for (const std::string& each : messages) {
            count += each.find(text) != std::string::npos ? 1 : 0;
        }
        return count;
    }

    memory_store memory;
    scripted_process connection{memory};
    std::vector<std::string> messages;
    service_options options;
    detail::event_log log{hook<void(log_level, std::string_view)>(
        [this](log_level level, std::string_view message) { options.log(level, message); })};
    detail::wall_clock time{{}};
    detail::store_client store{connection, options.store_timeout, log};
    detail::handler_registry handlers;
    detail::task_metrics metrics{handlers};
    detail::settlement_builder builder{time, options.max_result_bytes};
    detail::claim_trigger trigger{time};
    detail::settler settler{store, time, log, builder, trigger};
    detail::progress_writer progress{store, time};
    detail::endpoint_list endpoints{store, handlers};
    detail::step_writer steps{store, time};
    detail::runner runner{handlers, endpoints, settler, builder, progress,
                          steps,    trigger,   metrics, log,     options};
    detail::lease_keeper leases{store, time, log, runner, trigger, options};
    detail::claimer claimer{store, time, log, trigger, leases, runner, settler, builder, options};
    detail::rescuer rescuer{store,  time,    log,     leases,  claimer,
                            runner, settler, trigger, metrics, options};
    detail::scheduler scheduler{store, time, log, handlers, trigger};
    detail::sweeper sweeper{store, time, options.kept};
    detail::expirer expirer{store, time, trigger};
};

// A handler that ends when it is stopped.
inline task<json> wait_for_stop(job&) {
    co_await sleep_forever();
    co_return nullptr;
}

inline task<json> do_nothing(job&) {
    co_return nullptr;
}

}  // namespace weir::service::testing
