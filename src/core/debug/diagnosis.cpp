// SPDX-License-Identifier: MIT
// What the runtime tells people: reports through the one hook, names, and the watch on slow steps.

#include "core/debug/fiber_namer.hpp"
#include "core/loop/loop_state.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <cstdio>

namespace weir {

std::string_view to_string(report_kind kind) noexcept {
    switch (kind) {
        case report_kind::unretrieved_error:
            return "error never retrieved";
        case report_kind::callback_error:
            return "error in a callback";
        case report_kind::suppressed_error:
            return "error suppressed by another";
        case report_kind::slow_step:
            return "slow step";
        case report_kind::never_awaited:
            return "task never awaited";
        case report_kind::pending_destroyed:
            return "task destroyed while pending";
        case report_kind::deadlock:
            return "deadlock";
        case report_kind::long_lease:
            return "long lease";
        case report_kind::shutdown:
            return "shutdown";
    }
    return "report";
}

namespace {

void print_report(const report& about) noexcept {
    const std::string_view kind = to_string(about.kind);
    std::fprintf(stderr, "weir: %.*s: %s%s%s\n", static_cast<int>(kind.size()), kind.data(),
                 about.message.c_str(), about.created.empty() ? "" : "\n  spawned at ",
                 about.created.c_str());
}

// The handler sees the task-local values of the task it is told about.
class context_of_source {
public:
    explicit context_of_source(const report& about) noexcept
        : running_(detail::this_thread.running), context_(detail::this_thread.callback_context) {
        if (about.source.valid()) {
            const detail::fiber& source = about.source.checked();
            detail::this_thread.running = nullptr;
            detail::this_thread.callback_context =
                source.extras != nullptr ? source.extras->context : nullptr;
        }
    }
    context_of_source(const context_of_source&) = delete;
    context_of_source& operator=(const context_of_source&) = delete;
    ~context_of_source() {
        detail::this_thread.running = running_;
        detail::this_thread.callback_context = context_;
    }

private:
    detail::fiber* running_;
    detail::context_values* context_;
};

}  // namespace

void loop::on_report(report_handler handler) {
    state_->on_report = handler ? std::make_shared<report_handler>(std::move(handler)) : nullptr;
}

void loop::tell(report about) noexcept {
    if (state_->stopped_by != 0 && about.error != nullptr &&
        about.kind != report_kind::suppressed_error) {
        ++state_->failures_while_stopping;
    }
    context_of_source values(about);
    if (about.source.valid() && about.created.empty()) {
        about.created = detail::creation_site(about.source.checked());
    }
    const std::shared_ptr<report_handler> handler = state_->on_report;
    if (handler == nullptr) {
        print_report(about);
        return;
    }
    try {
        (*handler)(about);
    } catch (...) {
        print_report(about);
        print_report({report_kind::callback_error,
                      "the report handler itself threw: " + describe(std::current_exception()),
                      std::current_exception(),
                      {},
                      {}});
    }
}

std::vector<any_handle> all_tasks() {
    return loop::current().all_tasks();
}

std::string dump_tasks() {
    return loop::current().dump_tasks();
}

any_handle current_task() noexcept {
    detail::fiber* running = detail::this_thread.running;
    return running != nullptr ? any_handle(*running) : any_handle();
}

void any_handle::set_name(std::string_view name) const {
    checked().extra().name = name;
}

namespace {

// Where a suspended fiber is: the await of its innermost coroutine. Empty when it has ended.
std::string place_of(const detail::fiber& of) {
    const detail::frame* at = of.top;
    while (at != nullptr && at->is_boundary() && at != &of) {
        at = at->parent;
    }
    if (of.has(detail::is_done) || at == nullptr || at == &of) {
        return {};
    }
    const auto& where = static_cast<const detail::promise_base*>(at)->here;
    return detail::plain_function_name(where.function_name()) + " at " +
           detail::describe_place(where);
}

}  // namespace

// Debug mode only: the clock is read around every step.
void loop::step_watched(detail::fiber& ready) noexcept {
    any_handle keep(ready);
    const detail::frame* const top = ready.top;
    const std::source_location before = top->is_boundary()
                                            ? std::source_location()
                                            : static_cast<const detail::promise_base*>(top)->here;
    const clock::time_point begin = now();
    step(ready, step_budget());
    const clock::duration held = now() - begin;
    if (held < state_->slow_step) {
        return;
    }
    std::string message = "task " + detail::fiber_name(ready) + " held the loop for " +
                          std::to_string(held / std::chrono::milliseconds(1)) + " ms";
    if (before.line() != 0) {
        message += ", from " + detail::plain_function_name(before.function_name()) + " at " +
                   detail::describe_place(before);
    }
    const std::string place = place_of(ready);
    message += place.empty() ? " to its end" : " to the await in " + place;
    tell({report_kind::slow_step, std::move(message), nullptr, keep, {}});
}

namespace detail {

void loop_core::check_thread_slow(const char* what) const {
    const auto& self = static_cast<const loop&>(*this);
    if (const_cast<loop&>(self).state().thread != std::this_thread::get_id()) {
        throw wrong_thread(
            std::string(what) +
            ": called on a thread that does not run this loop; use loop.post or loop.submit");
    }
}

void loop_core::check_wake_slow() const {
    check_thread_slow("waking a task");
}

void report_unretrieved(fiber& failed) noexcept {
    const group_state& group = *failed.group;
    failed.raise(is_retrieved);
    const std::exception_ptr error = fiber_error(failed);
    const report about{
        report_kind::unretrieved_error,
        "task " + fiber_name(failed) + " failed, and nobody asked: " + describe(error), error,
        any_handle(failed), creation_site(failed)};
    if (group.is_closed && group.is_root) {
        print_report(about);  // the loop and its hook are gone
    } else {
        static_cast<loop&>(*group.home).tell(about);
    }
}

void note_creation(fiber& fresh, const std::source_location& where) {
    fiber_extras& extras = fresh.extra();
    extras.created = where;
    extras.created_known = true;
    known_fiber_name(fresh);  // numbers follow the order of creation
}

std::string creation_site(const fiber& of) {
    if (of.extras == nullptr || !of.extras->created_known) {
        return {};
    }
    return describe_place(of.extras->created);
}

std::string describe_place(const std::source_location& where) {
    return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

namespace {
constinit thread_local fiber_namer* first_namer = nullptr;
}  // namespace

fiber_namer::fiber_namer() noexcept : next_(first_namer) {
    first_namer = this;
}

fiber_namer::~fiber_namer() {
    fiber_namer** at = &first_namer;
    while (*at != nullptr && *at != this) {
        at = &(*at)->next_;
    }
    if (*at == this) {  // else its thread is gone
        *at = next_;
    }
}

void ask_fiber_namers() {
    for (fiber_namer* each = first_namer; each != nullptr; each = each->next_) {
        each->name_fibers();
    }
}

void name_fiber(fiber& which, const std::string& name) {
    std::string& own = which.extra().name;
    if (own.empty()) {
        own = name;
    }
}

std::string fiber_name(fiber& of) {
    if (of.extras == nullptr || of.extras->name.empty()) {
        ask_fiber_namers();
    }
    return known_fiber_name(of);
}

std::string known_fiber_name(fiber& of) {
    fiber_extras& extras = of.extra();
    if (!extras.name.empty()) {
        return extras.name;
    }
    if (extras.number == 0) {
        static std::atomic<std::uint64_t> last{0};
        extras.number = ++last;
    }
    return "task-" + std::to_string(extras.number);
}

void discard_unawaited(promise_base& frame, std::coroutine_handle<> coroutine) noexcept {
    auto* current = static_cast<loop*>(this_thread.loop);
    if (current != nullptr && current->debug() && !this_thread.is_discarding) {
        // It has not run, so the place it is at is its beginning.
        current->tell(
            {report_kind::never_awaited,
             plain_function_name(frame.here.function_name()) + " (" + describe_place(frame.here) +
                 ") was called, but its task was destroyed without being awaited or spawned",
             nullptr,
             current_task(),
             {}});
    }
    const discarding unreported;  // its arguments go with it
    coroutine.destroy();
}

void throw_nested_run() {
    throw loop_error("run: a loop is running on this thread already; co_await the task instead");
}
void throw_consumed_task() {
    throw invalid_state("the task was consumed already: a task can be awaited or spawned once");
}
void throw_cancelled(const fiber& ended) {
    throw cancelled(stop_reason(ended));
}
void throw_not_done(const fiber& unfinished, const char* what) {
    throw invalid_state(std::string(what) + " of task " +
                        fiber_name(const_cast<fiber&>(unfinished)) +
                        ": it has not ended yet; co_await the handle");
}
void throw_empty_handle() {
    throw invalid_state("the handle is empty");
}
void throw_not_a_number() {
    throw invalid_argument("a duration is not a number (NaN)");
}

}  // namespace detail
}  // namespace weir
