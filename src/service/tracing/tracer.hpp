// SPDX-License-Identifier: MIT
// tracer: the spans of submits and runs, and those that handlers make inside their runs.
#pragma once

#include "service/engine/wall_clock.hpp"

#include <weir/service/store.hpp>
#include <weir/service/trace.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class tracer final : public span_recorder {
public:
    // Without a sink it makes no spans.
    tracer(const wall_clock& time, const tracing_options& options);
    tracer(const tracer&) = delete;
    tracer& operator=(const tracer&) = delete;

    bool is_on() const noexcept { return options_.sink != nullptr; }

    // Begins the span of a submit, and writes it into the task as the parent of its runs. A task
    // without a trace begins one, or has no span, as the sample decides: null.
    std::unique_ptr<span> begin_submit(new_task& task);
    // Null: the submit has failed.
    void end_submit(std::unique_ptr<span> submit, const submit_result* result) noexcept;

    // Null: the task has no trace.
    std::unique_ptr<span> begin_run(const task_record& task);
    void end_run(std::unique_ptr<span> run, const settlement& ended) noexcept;

    span begin(const trace_context& parent, std::string name, span_kind kind) override;
    void end(span ended) noexcept override;

private:
    trace_context begin_trace();
    template <class Id>
    void fill(Id& id);

    const wall_clock& time_;
    const tracing_options options_;
    std::mt19937_64 random_;
};

// The spans of one call that submits tasks. Without end(), the call has failed.
class traced_submit {
public:
    traced_submit(tracer& traces, std::vector<new_task>& tasks) : traces_(traces) {
        if (traces.is_on()) {
            for (new_task& each : tasks) {
                spans_.push_back(traces.begin_submit(each));
            }
        }
    }
    traced_submit(tracer& traces, new_task& task) : traces_(traces) {
        if (traces.is_on()) {
            spans_.push_back(traces.begin_submit(task));
        }
    }
    traced_submit(const traced_submit&) = delete;
    traced_submit& operator=(const traced_submit&) = delete;
    ~traced_submit() {
        for (std::unique_ptr<span>& each : spans_) {
            traces_.end_submit(std::move(each), nullptr);
        }
    }

    // One result per task.
    void end(const std::vector<submit_result>& results) noexcept {
        for (std::size_t i = 0; i < spans_.size() && i < results.size(); ++i) {
            traces_.end_submit(std::move(spans_[i]), &results[i]);
        }
    }
    // Of a schedule. Empty: there was nothing to submit, and the span is dropped.
    void end(const std::optional<submit_result>& result) noexcept {
        if (!spans_.empty() && result.has_value()) {
            traces_.end_submit(std::move(spans_.front()), &*result);
        }
        spans_.clear();
    }

private:
    tracer& traces_;
    std::vector<std::unique_ptr<span>> spans_;
};

}  // namespace weir::service::detail
