// SPDX-License-Identifier: MIT
// The work of a step is done when its result is written, so the write is shielded from stops: a
// result that is lost means that the work is done twice. To repeat a write whose answer was lost is
// harmless, since the first result of a name wins. A write takes no longer than the lease lasts:
// otherwise the handler outlives it, while another node runs the task and the store refuses the
// write.

#include "service/engine/step_writer.hpp"

#include "service/store/store_texts.hpp"

#include <weir/cancel.hpp>

#include <algorithm>
#include <utility>

namespace weir::service::detail {

namespace {
constexpr clock::duration min_step_limit = std::chrono::milliseconds(1);
}  // namespace

task<std::string> step_writer::keep(const lease& owner, run_key key, step_record step) {
    decision::backoff delays(store_backoff_options);
    step.kept_at = time_.now();
    step_answer answer;
    for (;;) {
        const bool is_done = co_await shield(try_keep(owner, key, step, answer));
        if (is_done || owner.is_lost) {
            break;
        }
        co_await store_.wait_before_retry(delays);
    }
    switch (answer.what) {
        case step_answer::verdict::kept:
        case step_answer::verdict::known:
            break;
        case step_answer::verdict::too_many:
            throw permanent_failure(step_limit_error(step.name));
        case step_answer::verdict::not_running:
            throw step_lost("the step '" + step.name + "' was not kept: task " + key.id.text() +
                            " does not belong to this run any more");
    }
    co_return std::move(answer.result);
}

task<bool> step_writer::try_keep(const lease& owner, run_key key, const step_record& step,
                                 step_answer& to) {
    clock::duration limit = store_.timeout();
    if (owner.is_registered) {
        limit = std::clamp<clock::duration>(owner.expires_at - weir::now(), min_step_limit, limit);
    }
    try {
        to = co_await store_.call_within(limit, store_->keep_step(owner.node(), key, step));
    } catch (const store_unavailable&) {
        co_return false;
    }
    co_return true;
}

task<std::string> run_steps::keep(std::string name, std::string json) {
    step_record step;
    step.name = std::move(name);
    step.result = std::move(json);
    return writer_.keep(owner_, key_, std::move(step));
}

}  // namespace weir::service::detail
