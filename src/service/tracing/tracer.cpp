// SPDX-License-Identifier: MIT
// Attributes have the names of OpenTelemetry's conventions for messaging, where there is one.

#include "service/tracing/tracer.hpp"

#include "base/option_checks.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace weir::service::detail {

namespace {

// What became of the task.
std::string_view outcome_of(const settlement& ended) noexcept {
    if (ended.state != task_state::pending) {
        return to_string(ended.state);
    }
    return ended.attempt.has_value() ? "retried" : ended.held_by.empty() ? "returned" : "postponed";
}

void add(span& to, std::string_view name, std::string_view value) {
    to.attributes.emplace_back(std::string(name), std::string(value));
}

void add(span& to, std::string_view name, std::int64_t value) {
    to.attributes.emplace_back(std::string(name), value);
}

void add_task(span& to, const new_task& task, std::string_view operation) {
    add(to, "messaging.system", "weir");
    add(to, "messaging.operation.name", operation);
    add(to, "messaging.destination.name", task.queue);
    add(to, "weir.task.kind", task.kind);
}

std::optional<trace_context> context_of(const new_task& task) {
    return task.traceparent.empty() ? std::nullopt
                                    : trace_context::parse(task.traceparent, task.tracestate);
}

double checked_sample(double share) {
    if (!(share >= 0 && share <= 1)) {
        weir::detail::throw_bad_option("service", "tracing.sample", share, "0 to 1");
    }
    return share;
}

}  // namespace

tracer::tracer(const wall_clock& time, const tracing_options& options)
    : time_(time),
      options_{options.sink, checked_sample(options.sample)},
      random_(is_on() ? std::random_device()() * 0x1'0000'0001ULL ^ std::random_device()() : 0) {}

template <class Id>
void tracer::fill(Id& id) {
    do {
        for (std::size_t i = 0; i < id.size(); i += sizeof(std::uint64_t)) {
            const std::uint64_t number = random_();
            std::memcpy(id.data() + i, &number, sizeof number);
        }
    } while (id == Id{});
}

trace_context tracer::begin_trace() {
    trace_context fresh;
    fill(fresh.trace_id);
    fresh.flags = 1;
    return fresh;
}

span tracer::begin(const trace_context& parent, std::string name, span_kind kind) {
    span made;
    made.context = parent;
    made.parent_id = parent.span_id;
    fill(made.context.span_id);
    made.name = std::move(name);
    made.kind = kind;
    made.started_at = time_.now();
    return made;
}

void tracer::end(span ended) noexcept {
    if (is_on() && ended.context.is_sampled()) {
        ended.ended_at = std::max(time_.now(), ended.started_at);
        options_.sink->record(std::move(ended));
    }
}

std::unique_ptr<span> tracer::begin_submit(new_task& task) {
    std::optional<trace_context> parent = context_of(task);
    if (!parent && options_.sample > 0 &&
        std::uniform_real_distribution<>()(random_) < options_.sample) {
        parent = begin_trace();
    }
    if (!parent) {
        return nullptr;
    }
    auto submit =
        std::make_unique<span>(begin(*parent, "submit " + task.kind, span_kind::producer));
    add_task(*submit, task, "submit");
    task.traceparent = submit->context.traceparent();
    return submit;
}

void tracer::end_submit(std::unique_ptr<span> submit, const submit_result* result) noexcept {
    if (submit == nullptr) {
        return;
    }
    try {
        if (result == nullptr) {
            submit->is_error = true;
            submit->error = "the task could not be stored";
        } else if (is_refused(result->what) || result->what == submit_result::verdict::conflict) {
            submit->is_error = true;
            submit->error = "the task was refused";
        } else {
            add(*submit, "messaging.message.id", result->id.text());
        }
        end(std::move(*submit));
    } catch (const std::exception&) {
        // Out of memory: the span is lost.
    }
}

std::unique_ptr<span> tracer::begin_run(const task_record& task) {
    const std::optional<trace_context> parent = context_of(task);
    if (!parent || !is_on()) {
        return nullptr;
    }
    auto run = std::make_unique<span>(begin(*parent, "run " + task.kind, span_kind::consumer));
    add_task(*run, task, "process");
    add(*run, "messaging.message.id", task.id.text());
    add(*run, "weir.task.attempt", task.failures + 1);
    add(*run, "weir.task.run", task.run);
    return run;
}

void tracer::end_run(std::unique_ptr<span> run, const settlement& ended) noexcept {
    try {
        add(*run, "weir.task.outcome", outcome_of(ended));
        if (ended.attempt == attempt_end::failed || ended.attempt == attempt_end::timed_out) {
            run->is_error = true;
            run->error = ended.error;
        }
        end(std::move(*run));
    } catch (const std::exception&) {
        // Out of memory: the span is lost.
    }
}

}  // namespace weir::service::detail
