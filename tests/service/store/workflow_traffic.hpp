// SPDX-License-Identifier: MIT
// Random clients and nodes of workflows, for tests in which processes are killed, lose their
// connections, or work on one store at the same time. flow_traffic submits random graphs, adds
// members late, claims, ends, crashes, cancels, retries, removes and purges. A flow_ledger keeps
// what was acknowledged; flow_ending runs what is left to its end and compares the store with it:
// every group has ended with one callback, after all its members, and nothing waits for what has
// ended.
#pragma once

#include "workflows.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <set>

namespace store_test {

// What clients know, however many stores they use.
struct flow_facts {
    timestamp now = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17) + 12h;
    std::set<group_id> known;               // whose creation was acknowledged
    std::set<group_id> purgeable;           // which had ended when a purge could remove them
    std::multiset<task_id> retried;         // members that may run although their group has ended
    std::map<group_id, task_id> callbacks;  // that nodes have claimed
    std::map<std::string, int> seen;        // what has happened, and how often
};

// Of any thread: a killed process is taken from a thread of the disk.
class flow_ledger {
public:
    flow_ledger() = default;
    explicit flow_ledger(flow_facts facts) : facts_(std::move(facts)) {}

    flow_facts facts() const {
        const std::lock_guard lock(mutex_);
        return facts_;
    }
    timestamp now() const {
        const std::lock_guard lock(mutex_);
        return facts_.now;
    }
    template <class Change>
    void change(Change&& change) {
        const std::lock_guard lock(mutex_);
        change(facts_);
    }
    void count(std::string what, int times = 1) {
        change([&](flow_facts& facts) { facts.seen[std::move(what)] += times; });
    }
    void advance(std::chrono::microseconds time) {
        change([&](flow_facts& facts) { facts.now += time; });
    }

private:
    mutable std::mutex mutex_;
    flow_facts facts_;
};

inline task<std::vector<group_record>> all_groups(store& kept) {
    group_query all;
    all.limit = 1'000'000;
    std::vector<group_record> groups = co_await kept.workflows().list(all);
    co_return groups;
}

// Of a claimed task: all that it comes after allows it. A callback is the only one of its group,
// and all members have ended, except those that were retried after the group had.
inline task<> check_claimed(store& kept, task_record run, flow_ledger& ledger) {
    for (const dependency_record& edge : run.parents) {
        EXPECT_TRUE(edge.is_met()) << "it runs before " << edge.task.text();
    }
    if (run.kind != "callback") {
        co_return;
    }
    const std::string prefix = R"({"group":{"id":")";
    EXPECT_TRUE(run.payload.starts_with(prefix)) << run.payload;
    const std::size_t end = run.payload.find('"', prefix.size());
    const std::optional<group_id> group =
        group_id::parse(run.payload.substr(prefix.size(), end - prefix.size()));
    EXPECT_TRUE(group.has_value()) << run.payload;
    if (!group) {
        co_return;
    }
    ledger.change([&](flow_facts& facts) {
        const auto [known, is_new] = facts.callbacks.emplace(*group, run.id);
        EXPECT_EQ(known->second, run.id) << "a second callback of a group";
    });
    member_query everyone;
    everyone.limit = 1'000'000;
    everyone.is_brief = true;
    const std::vector<task_record> members = co_await kept.workflows().members(*group, everyone);
    ledger.count(members.size() > 1 ? "callback of several" : "callback");
    const flow_facts facts = ledger.facts();
    for (const task_record& each : members) {
        EXPECT_TRUE(is_final(each.state) || facts.retried.contains(each.id))
            << "a callback before member " << each.id.text() << " has ended";
    }
}

// If the group of the task had ended by then, the task runs without counting in it.
inline task<> retry_member(store& kept, task_id id, flow_ledger& ledger) {
    ledger.change([&](flow_facts& facts) { facts.retried.insert(id); });
    const change_result answer = co_await kept.retry(id, ledger.now());
    bool is_counted = answer != change_result::done;
    if (!is_counted) {
        const std::optional<task_detail> found = co_await kept.find(id);
        const group_id group = found ? found->task.group : group_id();
        const std::optional<group_record> of = co_await kept.workflows().find(group);
        is_counted = of && !is_final(of->state);
    }
    if (is_counted) {
        ledger.change([&](flow_facts& facts) { facts.retried.erase(facts.retried.find(id)); });
    }
}

inline const retention flow_retention{10min, 10min, 10min, 3s};

// Before purges: groups that have ended by now, and no others, may be removed from now on, as long
// as no more than a few minutes pass.
inline task<> let_purge(store& kept, flow_ledger& ledger) {
    const std::vector<group_record> groups = co_await all_groups(kept);
    ledger.change([&](flow_facts& facts) {
        for (const group_record& each : groups) {
            if (is_final(each.state)) {
                facts.purgeable.insert(each.id);
            }
        }
        facts.now += 1h;
    });
}

// What clients choose from.
struct flow_targets {
    std::vector<task_id> ids;
    std::vector<group_id> groups;
};

// Clients and a node that work on workflows. Several of them may use one ledger, on stores of their
// own.
class flow_traffic {
public:
    flow_traffic(const flow_traffic&) = delete;
    flow_traffic& operator=(const flow_traffic&) = delete;
    flow_traffic(store& kept, flow_ledger& ledger, std::string name, unsigned seed)
        : kept_(kept), ledger_(ledger), name_(std::move(name)), random_(seed) {}

    // Others work on the same tasks meanwhile: purges remove only what let_purge() was called for.
    void share(flow_targets& targets) {
        targets_ = &targets;
        is_alone_ = false;
    }
    task<> begin() {
        const timestamp now = ledger_.now();
        co_await kept_.heartbeat(bench::node(node(), now + 24h), now);
    }
    task<> work(int operations) {
        for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
            co_await work_once();
        }
    }
    // Goes on after calls that fail, as clients do. Returns how many have failed.
    task<int> work_in_trouble(int operations, const bool& is_over) {
        int failed = 0;
        for (int i = 0; i < operations && !is_over && !testing::Test::HasFailure(); ++i) {
            try {
                co_await work_once();
            } catch (const store_unavailable&) {
                ++failed;
            }
        }
        co_return failed;
    }

private:
    bool one_in(unsigned n) { return random_() % n == 0; }
    failure_policy any_policy() { return static_cast<failure_policy>(random_() % 3); }
    template <class T>
    T any_of(const std::vector<T>& all) {
        return all.empty() || one_in(30) ? T(99) : all[random_() % all.size()];
    }
    std::string node() const { return name_ + std::to_string(born_); }

    task<> work_once() {
        ledger_.advance(std::chrono::milliseconds(random_() % 400));
        const unsigned choice = random_() % 40;
        if (choice < 8) {
            co_await submit();
        } else if (choice < 12) {
            co_await join();
        } else if (choice < 20) {
            co_await claim();
        } else if (choice < 29) {
            co_await settle();
        } else if (choice < 32) {
            co_await change_group();
        } else if (choice == 32) {
            co_await kept_.workflows().cancel_subtree(any_of(targets_->ids), ledger_.now());
        } else if (choice == 33) {
            co_await kept_.cancel(any_of(targets_->ids), ledger_.now());
        } else if (choice < 36) {
            co_await retry_member(kept_, any_of(targets_->ids), ledger_);
        } else if (choice == 36) {
            co_await kept_.remove_task(any_of(targets_->ids), ledger_.now());
        } else if (choice < 39) {
            co_await purge();
        } else {
            co_await crash();
        }
    }

    // ---- clients

    // Chains, fan-in, and tasks that come after those of other workflows.
    workflow any_tasks(std::size_t count) {
        workflow flow;
        for (std::size_t i = 0; i < count; ++i) {
            new_task fresh = named("member");
            for (unsigned j = random_() % 3; j > 0; --j) {
                dependency on;
                if (i > 0 && !one_in(4)) {
                    on.position = random_() % i;
                } else {
                    on.task = any_of(targets_->ids);
                }
                fresh.after.push_back(on.with(any_policy()));
            }
            flow.add(std::move(fresh));
        }
        return flow;
    }
    task<> submit() {
        workflow flow = any_tasks(random_() % 9);
        flow.group = with_callback(any_policy());
        flow.group->runs_callback_on_cancel = one_in(2);
        flow.group->is_sealed = !one_in(4);
        const workflow_result made = co_await kept_.workflows().submit(flow, ledger_.now());
        EXPECT_EQ(made.what, verdict::made);
        ledger_.change([&](flow_facts& facts) { facts.known.insert(made.group); });
        targets_->groups.push_back(made.group);
        note(made);
    }
    // Late additions, by a client or by a running member.
    task<> join() {
        workflow more = any_tasks(1 + random_() % 3);
        more.join = any_of(targets_->groups);
        if (!runs_.empty() && one_in(2)) {
            const task_record& from = runs_[random_() % runs_.size()].second;
            more.from = {from.id, from.run};
            more.join = from.group ? from.group : more.join;
        }
        const workflow_result made = co_await kept_.workflows().submit(more, ledger_.now());
        if (made.what == verdict::made) {
            ledger_.count(more.from.id ? "joined by a member" : "joined");
        }
        note(made);
    }
    void note(const workflow_result& made) {
        for (const submit_result& each : made.tasks) {
            targets_->ids.push_back(each.id);
        }
    }
    task<> change_group() {
        const group_id group = any_of(targets_->groups);
        if (one_in(3)) {
            co_await kept_.workflows().cancel(group, ledger_.now());
        } else {
            co_await kept_.workflows().seal(group, ledger_.now());
        }
    }
    task<> purge() {
        if (is_alone_) {
            co_await let_purge(kept_, ledger_);
            co_await begin();
        }
        for (int i = 0; i < 3; ++i) {
            const std::size_t purged = co_await kept_.purge(flow_retention, ledger_.now());
            ledger_.count("purged", static_cast<int>(purged));
        }
    }

    // ---- a node

    task<> claim() {
        claim_request request;
        const std::string name = node();
        request.node = name;
        request.now = ledger_.now();
        request.limit = 1 + random_() % 6;
        const claimed found = co_await kept_.claim(request);
        for (const task_record& each : found.tasks) {
            runs_.emplace_back(name, each);
        }
        for (const task_record& each : found.tasks) {
            co_await check_claimed(kept_, each, ledger_);
        }
    }
    task<> settle() {
        std::vector<settlement> ended;
        std::vector<std::pair<std::string, task_record>> left;
        const std::string name = runs_.empty() ? node() : runs_[random_() % runs_.size()].first;
        for (auto& run : runs_) {
            if (run.first != name || one_in(4)) {
                left.push_back(std::move(run));
            } else {
                ended.push_back(any_end(run.second));
            }
        }
        runs_ = std::move(left);
        if (!ended.empty() && one_in(4)) {
            co_await kept_.settle(name, ended, ledger_.now());  // its answer is lost
        }
        co_await kept_.settle(name, std::move(ended), ledger_.now());
    }
    settlement any_end(const task_record& run) {
        const unsigned choice = random_() % 16;
        if (choice == 0) {
            settlement again = bench::ending(run, task_state::pending);
            again.due_at = ledger_.now();
            again.failures = run.failures + 1;
            again.error = "it broke";
            again.attempt = attempt_end::failed;
            return again;
        }
        return bench::ending(run, choice < 4    ? task_state::failed
                                  : choice == 4 ? task_state::cancelled
                                                : task_state::completed);
    }
    // The next process of this node rescues what its predecessor ran.
    task<> crash() {
        const std::string name = node();
        ++born_;
        co_await begin();
        co_await kept_.retire(name);
        const rescue_result rescued = co_await kept_.rescue(ledger_.now(), 3);
        ledger_.count("rescued", static_cast<int>(rescued.returned + rescued.failed));
    }

    store& kept_;
    flow_ledger& ledger_;
    std::string name_;
    std::mt19937 random_;
    bool is_alone_ = true;
    int born_ = 0;
    std::vector<std::pair<std::string, task_record>> runs_;
    flow_targets own_;
    flow_targets* targets_ = &own_;
};

// A test in which these never happen checks little.
inline void check_variety(const std::map<std::string, int>& seen) {
    for (const char* const each :
         {"callback", "callback of several", "joined", "joined by a member", "purged", "rescued",
          "held group", "group of held tasks", "removed group", "counted group"}) {
        EXPECT_TRUE(seen.contains(each) && seen.at(each) > 0) << each;
    }
}

// Runs all that is left to its end, and checks that it has ended as it must.
class flow_ending {
public:
    flow_ending(bench& at, flow_ledger& ledger, unsigned seed)
        : at_(at), ledger_(ledger), random_(seed) {
        // Nodes that are gone have lost their leases.
        ledger_.advance(48h);
        at_.now = ledger_.now();
    }

    task<> check() {
        co_await at_.kept->rescue(at_.now, 1000);
        const std::vector<group_record> groups = co_await all_groups(*at_.kept);
        for (const group_record& each : groups) {
            co_await use_.flows().seal(each.id, at_.now);
        }
        co_await run_all();
        for (int round = 0; round < 8; ++round) {
            const bool is_left = co_await resolve(round >= 2 || random_() % 4 == 0);
            if (!is_left) {
                break;
            }
            co_await run_all();
        }
        co_await check_groups();
        co_await check_members();
    }

private:
    task<> run_all() {
        for (std::size_t step = 0; step < 10'000; ++step) {
            const std::vector<task_record> runs = co_await use_.claim(1000, "another");
            if (runs.empty()) {
                co_return;
            }
            for (const task_record& each : runs) {
                co_await check_claimed(*at_.kept, each, ledger_);
            }
            co_await at_.complete(runs, "another");
        }
        ADD_FAILURE() << "it does not end";
    }
    // Tasks and groups that wait for a retry: retries what they wait for, or cancels them. False:
    // there are none.
    task<bool> resolve(bool cancels) {
        bool is_left = false;
        const std::vector<task_record> members = co_await use_.all("member");
        for (const task_record& each : members) {
            if (!is_final(each.state)) {
                is_left = true;
                co_await resolve_task(each.id, cancels);
            }
        }
        const std::vector<group_record> groups = co_await all_groups(*at_.kept);
        for (const group_record& each : groups) {
            if (!is_final(each.state)) {
                is_left = true;
                ledger_.count(each.is_held() ? "held group" : "group of held tasks");
                co_await resolve_group(each, cancels);
            }
        }
        co_return is_left;
    }
    task<> resolve_task(task_id id, bool cancels) {
        if (cancels) {
            co_await use_.flows().cancel_subtree(id, at_.now);
            co_return;
        }
        const std::optional<task_detail> found = co_await at_.kept->find(id);
        for (const dependency_record& edge : found->task.parents) {
            if (!edge.is_met()) {
                co_await retry_member(*at_.kept, edge.task, ledger_);
            }
        }
    }
    task<> resolve_group(group_record group, bool cancels) {
        if (cancels) {
            co_await use_.flows().cancel(group.id, at_.now);
            co_return;
        }
        member_query everyone;
        everyone.limit = 100'000;
        const std::vector<task_record> members = co_await use_.flows().members(group.id, everyone);
        for (const task_record& each : members) {
            if (each.state == task_state::failed || each.state == task_state::cancelled) {
                co_await retry_member(*at_.kept, each.id, ledger_);
            }
        }
    }

    task<> check_groups() {
        std::map<std::string, int> callbacks;
        const std::vector<task_record> found = co_await use_.all("callback");
        for (const task_record& each : found) {
            const int count = ++callbacks[each.payload.substr(0, each.payload.find(R"(,"state")"))];
            EXPECT_EQ(count, 1) << "a second callback: " << each.payload;
        }
        const flow_facts facts = ledger_.facts();
        std::set<group_id> left = facts.known;
        for (const group_id each : facts.purgeable) {
            left.erase(each);
        }
        const std::vector<group_record> groups = co_await all_groups(*at_.kept);
        for (const group_record& each : groups) {
            left.erase(each.id);
            EXPECT_TRUE(is_final(each.state)) << to_string(each.state);
            EXPECT_EQ(each.open, 0U);
            const auto claimed = facts.callbacks.find(each.id);
            if (claimed != facts.callbacks.end()) {
                EXPECT_EQ(claimed->second, each.callback_task);
            }
            if (!facts.purgeable.contains(each.id)) {
                EXPECT_EQ(callbacks[R"({"group":{"id":")" + each.id.text() + '"'], 1);
            }
            co_await check_counts(each, facts);
        }
        EXPECT_TRUE(left.empty()) << left.size() << " groups are lost";
        for (const group_id each : facts.purgeable) {
            const bool is_kept = std::ranges::find(groups, each, &group_record::id) != groups.end();
            ledger_.count("removed group", is_kept ? 0 : 1);
        }
    }
    // Of groups whose members are all there, and count.
    task<> check_counts(group_record group, const flow_facts& facts) {
        member_query everyone;
        everyone.limit = 1'000'000;
        everyone.is_brief = true;
        const std::vector<task_record> members = co_await use_.flows().members(group.id, everyone);
        std::map<task_state, std::uint64_t> counted;
        for (const task_record& each : members) {
            if (facts.retried.contains(each.id)) {
                co_return;
            }
            ++counted[each.state];
        }
        if (members.size() == group.total) {
            EXPECT_EQ(group.completed(), counted[task_state::completed]);
            EXPECT_EQ(group.failed, counted[task_state::failed]);
            EXPECT_EQ(group.cancelled, counted[task_state::cancelled]);
            ledger_.count("counted group");
        }
    }
    task<> check_members() {
        const std::vector<task_record> members = co_await use_.all("member");
        for (const task_record& each : members) {
            EXPECT_TRUE(is_final(each.state)) << "stuck: " << to_string(view_of(each, at_.now));
        }
    }

    bench& at_;
    flow_ledger& ledger_;
    std::mt19937 random_;
    flow_bench use_{at_};
};

}  // namespace store_test
