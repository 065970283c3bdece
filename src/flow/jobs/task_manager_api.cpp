// SPDX-License-Identifier: MIT
// The parts of task_manager and of the contexts that need not be in headers.

#include <weir/error.hpp>
#include <weir/flow/task_manager.hpp>
#include <weir/loop.hpp>

#include <cmath>

namespace weir {

unknown_task::unknown_task(std::string_view id)
    : std::runtime_error("there is no task '" + std::string(id) + "', or none any more") {}

// ---- task_manager
// --------------------------------------------------------------------------------

task_manager::live_pointer task_manager::make(const task_options& how, detail::task_body body) {
    auto made = std::make_shared<detail::live_task>();
    made->record.id = how.id;
    made->record.name = how.name;
    made->body = std::move(body);
    return made;
}

task<std::string> task_manager::enter_or_throw(core_pointer core, live_pointer fresh) {
    const std::optional<refusal> why = co_await detail::task_manager_core::submit(core, fresh);
    if (why.has_value()) {
        core->throw_refused(*why, fresh->record.id);
    }
    co_return fresh->record.id;
}

task<admission<std::string>> task_manager::enter(core_pointer core, live_pointer fresh) {
    const std::optional<refusal> why = co_await detail::task_manager_core::submit(core, fresh);
    if (why.has_value()) {
        co_return *why;
    }
    co_return fresh->record.id;
}

task<std::string> task_manager::submit_named(const task_options& how, std::string payload) {
    const std::string name(how.name);
    detail::task_body body = core_->body_for(name, payload);
    if (!body) {
        throw invalid_argument("task manager '" + core_->name() + "': no handler is defined for '" +
                               name + "'");
    }
    live_pointer made = make(how, std::move(body));
    made->record.payload = std::move(payload);
    return enter_or_throw(core_, std::move(made));
}

void task_manager::throw_failure(const managed_task& ended) {
    if (ended.state == task_state::cancelled) {
        throw cancelled(ended.error);
    }
    if (ended.exception != nullptr) {
        std::rethrow_exception(ended.exception);
    }
    throw task_failed(ended.error);
}

void task_manager::throw_other_type(const managed_task& ended) {
    throw invalid_argument("the result of task '" + ended.id +
                           "' is of another type than was asked for");
}

// ---- task_context
// --------------------------------------------------------------------------------

task_context::task_context(detail::task_manager_core& manager,
                           std::shared_ptr<detail::live_task> of) noexcept
    : manager_(manager), of_(std::move(of)) {}

const std::string& task_context::id() const noexcept {
    return of_->record.id;
}
const std::string& task_context::name() const noexcept {
    return of_->record.name;
}
void task_context::progress(double fraction, std::string_view message) {
    manager_.progress(*of_, fraction, message);
}

blocking_context task_context::for_thread() const {
    blocking_context made;
    made.id_ = of_->record.id;
    made.manager_ = manager_.weak_from_this();
    made.of_ = of_;
    made.mail_ = loop::current().mail();
    made.stop_ = of_->stop;
    return made;
}

void blocking_context::progress(double fraction, std::string_view message) const {
    if (std::isnan(fraction)) {
        throw invalid_argument("task '" + id_ + "': the progress is not a number");
    }
    detail::post_to(mail_,
                    [manager = manager_, of = of_, fraction, message = std::string(message)] {
                        const auto known = manager.lock();
                        const auto task = of.lock();
                        if (known != nullptr && task != nullptr) {
                            known->progress(*task, fraction, message);
                        }
                    });
}

}  // namespace weir
