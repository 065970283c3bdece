// SPDX-License-Identifier: MIT
// First all goes wrong that the plan has, then the faults stop: from then on, all tasks must end in
// bounded time.

#include "world.hpp"

#include <weir/loop.hpp>
#include <weir/service/schedule.hpp>
#include <weir/time.hpp>

#include <algorithm>

namespace weir::service::testing {

namespace {

constexpr int checks_in_a_row = 8;
constexpr std::chrono::seconds max_jump = 1h;

std::size_t nodes_of(const plan& how) {
    return how.nodes > 0 ? how.nodes : 1 + dice(how.seed ^ 77).below(6);
}

}  // namespace

world::world(const plan& how)
    : at_(how), broken_(at_.kept, how.broken), clocked_(broken_), expiries_(how.seed ^ 24) {
    at_.reached = at_.is_cluster ? static_cast<store*>(&clocked_) : &broken_;
    at_.kept.observe(&at_.referee);
    for (std::size_t i = 0; i < nodes_of(how); ++i) {
        nodes_.push_back(std::make_unique<node>(at_, i));
    }
    // Nodes of one machine that have all lost their leases may agree on another steady clock, by a
    // calendar that has jumped. Sessions that outlive that are judged by the new one.
    const bool may_lose_clock = !at_.is_cluster && how.has(trouble::clocks);
    const std::size_t count =
        how.has(trouble::workers) && !may_lose_clock ? 1 + nodes_.size() / 3 : 0;
    for (std::size_t i = 0; i < count; ++i) {
        workers_.push_back(std::make_unique<worker>(at_, nodes_, i));
    }
}

void world::add_to(verdict& result) const {
    at_.referee.add_to(result);
    result.calls = at_.calls;
}

task<> world::run() {
    co_await set_up();
    co_await live();
    co_await calm_down();
    co_await end();
}

queue_limits world::any_limits(std::size_t queue) {
    queue_limits limits;
    switch (queue) {
        case 0:
            limits.max_running = 1 + static_cast<std::uint32_t>(at_.random.below(4));
            break;
        case 1:
            limits.key_max_running = 1;
            break;
        case 2:
            limits.max_running = 2 + static_cast<std::uint32_t>(at_.random.below(5));
            limits.key_max_running = 1 + static_cast<std::uint32_t>(at_.random.below(2));
            limits.rate = 20;
            limits.burst = 3;
            break;
        default:
            limits.max_pending = 200;
            break;
    }
    return limits;
}

task<> world::set_up() {
    for (std::size_t i = 0; i < 4; ++i) {
        co_await change_limits("q" + std::to_string(i));
    }
    if (at_.settings.has(trouble::schedules)) {
        const std::pair<const char*, const char*> plans[] = {{"tick.", "@every 7s"},
                                                             {"tock.", "* * * * *"}};
        for (const auto& [kind, cron] : plans) {
            schedule made;
            made.name = kind;
            made.cron = cron;
            made.task.kind = kind;
            made.task.queue = "q0";
            made.overlap = at_.random.one_in(3) ? overlap_policy::replace : overlap_policy::queue;
            co_await at_.kept.put_schedule(std::move(made), weir::detail::wall_time() + 7s);
        }
    }
    for (const auto& each : nodes_) {
        if (at_.settings.has(trouble::clocks) && at_.random.one_in(3)) {
            each->set_calendar(std::chrono::seconds(at_.random.below(7)) - 3s);
        }
        each->start();
    }
    for (const auto& each : workers_) {
        worker_runs_.push_back(weir::spawn(each->run()));
    }
}

task<> world::wait(clock::duration length) {
    const clock::time_point until = weir::now() + length;
    while (weir::now() < until && !at_.referee.is_failed()) {
        co_await sleep_until(std::min(until, weir::now() + 1s));
    }
}

task<> world::live() {
    const handle<> parts[] = {weir::spawn(submit_again_and_again()), weir::spawn(make_trouble()),
                              weir::spawn(check_again_and_again())};
    co_await wait(at_.settings.trouble_time);
    for (const handle<>& each : parts) {
        each.cancel();
        co_await each.wait();
    }
}

task<> world::calm_down() {
    at_.referee.note("the faults stop");
    at_.is_calm = true;
    at_.calendar_ahead = max_jump + 30s;  // tasks wait for times of calendars that were ahead
    for (const auto& each : nodes_) {
        each->set_calendar(0s);
        each->start();
    }
    clock::time_point latest = weir::now() + at_.settings.time_to_end;
    if (!at_.is_cluster && at_.settings.has(trouble::clocks)) {
        // A node that starts alone takes its steady clock from the calendar: if that was set back,
        // delays and rates that the store has measured before last so much longer.
        latest += 2 * max_jump;
    }
    // Calls that are under way still reach the store.
    co_await wait(1min + 30s);
    // Schedules make new tasks for ever, so it is enough that all have ended at some time.
    std::optional<task_id> unended = at_.referee.unended();
    while (unended.has_value() && weir::now() < latest && !at_.referee.is_failed()) {
        co_await sleep(250ms);
        unended = at_.referee.unended();
    }
    if (unended.has_value()) {
        co_await complain_of(*unended);
    } else {
        co_await check();
    }
}

task<> world::complain_of(task_id unended) {
    const moment now = weir::detail::wall_time() +
                       (at_.is_cluster ? std::chrono::microseconds(0) : at_.calendar_ahead);
    const std::optional<task_detail> found = co_await at_.kept.find(unended);
    const std::vector<hold> holds = co_await at_.kept.why(unended, now);
    std::string text = "task " + unended.text() + " has not ended";
    if (found.has_value()) {
        text += ": " + found->task.kind + " in " + found->task.queue + ", run " +
                std::to_string(found->task.run) + " on '" + found->task.node + "', " +
                std::string(to_string(view_of(found->task, now.at)));
    }
    for (const hold& each : holds) {
        text += ", " + std::string(to_string(each.why));
        if (each.until.has_value()) {
            text += " for " + std::to_string((*each.until - now.at) / 1s) + " s";
        }
    }
    at_.referee.fail(std::move(text));
}

task<> world::end() {
    for (const handle<>& each : worker_runs_) {
        each.cancel();
        co_await each.wait();
    }
    for (const auto& each : nodes_) {
        if (at_.referee.is_failed()) {
            each->kill();
        } else {
            each->stop();
        }
    }
    while (!at_.aside.empty()) {
        const handle<> last = std::move(at_.aside.back());
        at_.aside.pop_back();
        co_await last.wait();
    }
    at_.kept.observe(nullptr);
}

task<> world::check_again_and_again() {
    for (;;) {
        co_await sleep(at_.settings.check_every);
        co_await check();
    }
}

task<> world::check() {
    std::string wrong;
    for (int i = 0; i < checks_in_a_row; ++i) {
        task_filter all;
        all.limit = all.max_scanned = 10'000'000;
        const std::vector<queue_record> queues = co_await broken_.queues();
        const task_page tasks = co_await at_.kept.list(std::move(all), {});
        wrong = at_.referee.check_all(tasks, queues);
        if (wrong.empty()) {
            co_return;
        }
        co_await sleep(3ms);
    }
    at_.referee.fail(std::move(wrong));
}

// ---- clients

world::node_at_work world::any_node() {
    std::vector<node_at_work> up;
    for (const auto& each : nodes_) {
        if (each->current() != nullptr && each->current()->is_up()) {
            up.push_back(each->current());
        }
    }
    return up.empty() ? nullptr : up[at_.random.below(up.size())];
}

new_task world::any_task() {
    dice& random = at_.random;
    const char* const keys[] = {"", "a", "b", "c"};
    const std::string key = keys[random.below(4)];
    const bool is_remote = !workers_.empty() && random.one_in(4);
    const bool is_stubborn = at_.settings.has(trouble::stubborn) && random.one_in(12);
    new_task made((is_remote ? "remote." : is_stubborn ? "stubborn." : "work.") + key);
    const timestamp now = weir::detail::wall_time() +
                          (at_.is_cluster ? std::chrono::microseconds(0) : at_.calendar_ahead);
    made.is_remote = is_remote;
    made.flow_key = key;
    made.queue = any_queue();
    made.priority = static_cast<std::int32_t>(random.below(3));
    if (random.one_in(4)) {
        made.run_at = now + std::chrono::milliseconds(random.below(20'000));
    }
    if (expiries_.one_in(5)) {
        made.expires_at =
            made.run_at.value_or(now) + std::chrono::milliseconds(100 + expiries_.below(30'000));
    }
    made.retry.max_attempts = 1 + static_cast<std::uint32_t>(random.below(4));
    made.retry.backoff = std::chrono::milliseconds(100 + random.below(1000));
    made.retry.max_backoff = 5s;
    if (random.one_in(4)) {
        made.timeout = std::chrono::milliseconds(1000 + random.below(20'000));
    }
    if (random.one_in(3)) {
        made.idempotency_key = "key " + std::to_string(++keys_);
    } else if (random.one_in(4)) {
        made.unique_key = "unique " + std::to_string(random.below(6));
    }
    if (random.one_in(10)) {
        made.on_success = callback("https://example.com/");
        made.on_success.queue = "hooks";
    }
    return made;
}

task<> world::submit_again_and_again() {
    for (;;) {
        co_await sleep(at_.random.between(1ms, 2 * at_.settings.submit_every));
        for (std::uint64_t i = at_.random.one_in(20) ? 15 : 1; i > 0; --i) {
            const new_task made = any_task();
            at_.run_aside(submit(made, !made.idempotency_key.empty()));
            if (!made.idempotency_key.empty() && at_.random.one_in(4)) {
                at_.run_aside(submit(made, true));
            }
        }
    }
}

// With a key, until it is acknowledged.
task<> world::submit(new_task made, bool is_repeated) {
    do {
        const node_at_work to = any_node();
        if (to != nullptr) {
            try {
                std::vector<new_task> batch(1, made);
                std::vector<submit_result> answers;
                if (made.is_remote) {
                    answers = co_await weir::timeout(
                        5s, to->connection().submit(std::move(batch), to->tasks().moment_now()));
                } else {
                    answers = co_await to->tasks().submit(std::move(batch));
                }
                if (!to->is_dead()) {
                    at_.referee.submitted(made, answers.at(0));
                    co_return;
                }
            } catch (const timed_out&) {
                // It may be done or not.
            } catch (const store_unavailable&) {
                // The same.
            }
        }
        co_await sleep(500ms);
    } while (is_repeated && !at_.is_calm);
}

task<> world::cancel(task_id id) {
    const node_at_work to = any_node();
    if (to == nullptr) {
        co_return;
    }
    try {
        const change_result answer = co_await to->tasks().cancel(id);
        if (!to->is_dead()) {
            at_.referee.cancel_answered(id, answer);
        }
    } catch (const store_unavailable&) {
        // It may be done or not.
    }
}

task<> world::retry(task_id id) {
    const node_at_work to = any_node();
    if (to == nullptr) {
        co_return;
    }
    at_.referee.retry_sent(id);
    try {
        co_await to->tasks().retry(id);
    } catch (const store_unavailable&) {
        // It may be done or not.
    }
}

// Meanwhile, either limits may hold. One at a time: of two changes, the last to return need not be
// the last to take effect.
task<> world::change_limits(std::string queue) {
    if (!limits_under_change_.insert(queue).second) {
        co_return;
    }
    const queue_limits limits = any_limits(static_cast<std::size_t>(queue.back() - '0'));
    at_.referee.set_limits(queue, {});
    co_await at_.kept.limit(queue, limits);
    at_.referee.set_limits(queue, limits);
    limits_under_change_.erase(queue);
}

task<> world::pause_for_a_while(std::string queue) {
    co_await at_.kept.pause(queue, true);
    co_await sleep(at_.random.between(1s, 20s));
    co_await at_.kept.pause(queue, false);
}

// ---- trouble

task<> world::make_trouble() {
    for (;;) {
        co_await sleep(at_.random.between(1ms, 2 * at_.settings.trouble_every));
        trouble_once();
    }
}

void world::trouble_once() {
    const auto what = static_cast<trouble>(at_.random.below(trouble_names.size()));
    node& chosen = *nodes_[at_.random.below(nodes_.size())];
    if (chosen.current() == nullptr) {
        chosen.start();
        return;
    }
    const weather bad = any_weather();
    const clock::duration length = at_.random.between(1s, at_.random.one_in(3) ? 40s : 12s);
    if (!at_.settings.has(what)) {
        return;
    }
    weather to;
    switch (what) {
        case trouble::kills:
            chosen.kill();
            break;
        case trouble::deploys:
            chosen.stop();
            chosen.start();
            break;
        case trouble::partitions:
            to.cuts_questions = bad.cuts_questions;
            to.cuts_answers = bad.cuts_answers;
            at_.run_aside(spoil(chosen.current(), to, length));
            break;
        case trouble::flaky:
            to = bad;
            to.slow = 0;
            to.cuts_answers = to.cuts_questions = false;
            at_.run_aside(spoil(chosen.current(), to, 2 * length));
            break;
        case trouble::slow:
            to.slow = bad.slow;
            at_.run_aside(spoil(chosen.current(), to, 2 * length));
            break;
        case trouble::outages:
            at_.run_aside(take_store_away(length));
            break;
        case trouble::clocks:
            jump();
            break;
        case trouble::clients:
            ask_as_client();
            break;
        case trouble::workers:
            if (workers_.empty()) {
                break;
            }
            if (at_.random.one_in(2)) {
                workers_[at_.random.below(workers_.size())]->kill();
            } else {
                workers_[at_.random.below(workers_.size())]->deploy();
            }
            break;
        case trouble::schedules:
        case trouble::stubborn:
            break;
    }
}

weather world::any_weather() {
    const double much = at_.random.one_in(3) ? 0.6 : 0.15;
    weather made;
    made.fails = at_.random.one_in(2) ? much : 0;
    made.hangs = at_.random.one_in(3) ? much / 2 : 0;
    made.loses = at_.random.one_in(2) ? much : 0;
    made.hangs_late = at_.random.one_in(3) ? much / 2 : 0;
    made.slow = much;
    const std::uint64_t side = at_.random.below(3);
    made.cuts_questions = side != 0;
    made.cuts_answers = side != 1;
    return made;
}

task<> world::spoil(node_at_work which, weather to, clock::duration length) {
    at_.referee.note("bad weather for node " + std::to_string(which->number()));
    which->connection().now = to;
    co_await sleep(length);
    which->connection().now = {};
}

task<> world::take_store_away(clock::duration length) {
    at_.referee.note("the store is away");
    at_.is_away = true;
    co_await sleep(length);
    at_.is_away = false;
    at_.referee.note("the store is back");
}

void world::jump() {
    const auto by = std::chrono::seconds(at_.random.below(2 * max_jump / 1s)) - max_jump;
    at_.referee.note("a calendar is " + std::to_string(by.count()) + " s ahead now");
    if (at_.is_cluster) {
        nodes_[at_.random.below(nodes_.size())]->set_calendar(by);
    } else {
        at_.calendar_ahead = by;
    }
}

void world::ask_as_client() {
    for (int i = 0; i < 3; ++i) {
        const task_id id = at_.referee.any_task(at_.random);
        const std::uint64_t what = at_.random.below(10);
        if (what < 5 && id) {
            at_.run_aside(cancel(id));
        } else if (what < 7 && id) {
            at_.run_aside(retry(id));
        } else if (what < 9) {
            at_.run_aside(change_limits(any_queue()));
        } else {
            at_.run_aside(pause_for_a_while(any_queue()));
        }
    }
}

// ---- playing

verdict play(const plan& how) {
    verdict result;
    world played(how);
    loop_options options;
    options.driver = driver_kind::simulated;
    options.seed = how.seed + 1;
    options.signals = signal_handling::none;
    options.on_report = [](const report&) {};  // calls fail that nobody waits for any more
    try {
        loop(std::move(options)).run(played.run());
    } catch (const std::exception& error) {
        result.violation = std::string("the world has ended by '") + error.what() + "'";
    }
    const std::string thrown = result.violation;
    played.add_to(result);
    if (result.violation.empty()) {
        result.violation = thrown;
    }
    return result;
}

plan shrink(plan failing) {
    for (std::size_t i = 0; i < trouble_names.size(); ++i) {
        plan without = failing;
        without.leave_out(static_cast<trouble>(i));
        if (play(without).is_failed()) {
            failing = without;
        }
    }
    return failing;
}

std::string describe(const plan& how) {
    std::string text = "seed " + std::to_string(how.seed) + ", trouble:";
    for (std::size_t i = 0; i < trouble_names.size(); ++i) {
        if (how.has(static_cast<trouble>(i))) {
            text += " " + std::string(trouble_names[i]);
        }
    }
    return text;
}

}  // namespace weir::service::testing
