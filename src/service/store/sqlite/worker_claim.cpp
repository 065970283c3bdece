// SPDX-License-Identifier: MIT
// A poll walks the offered branches of its pools, in the order of turns: queues, then flows, one
// task at a time. As a claim of a node, it gives turns first and fetches the tasks of each flow
// afterwards. Turns count for each pool on its own, so that a kind that is served often does not
// delay another; a poll for several kinds goes by the oldest turn of these, and its turns count for
// all of them.
//
// Branches that their flow holds are not read: they are in no index that this walks. One that is
// offered although its flow may not take tasks any more is found once, and held. So the cost does
// not depend on how many tasks wait, on tasks of other kinds or of nodes, or on flows that are
// full, slow or paused.

#include "service/store/sqlite/worker_claim.hpp"

#include "service/store/sqlite/rows/group_rows.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/steps.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weir::service::detail {

namespace {

std::uint64_t queue_room(queue_row& queue, timestamp now) noexcept {
    if (queue.is_paused || queue.is_full()) {
        return 0;
    }
    const std::uint64_t places = queue.limits.max_running == 0
                                     ? std::numeric_limits<std::uint64_t>::max()
                                     : queue.limits.max_running - queue.count(task_state::running);
    return std::min(places, queue.bucket().available(now));
}

bool is_wanted(const std::vector<std::string>& queues, const std::string& name) {
    return queues.empty() || std::ranges::find(queues, name) != queues.end();
}

}  // namespace

worker_claims worker_claim_operation::run(std::span<const worker_claim> polls) {
    worker_claims result;
    for (const worker_claim& each : polls) {
        result.answers.push_back(answer(each));
    }
    if (has_turns_) {
        write_turns();
    }
    for (scope* const each : unsatisfied_) {
        if (const std::optional<timestamp> next = next_at(*each)) {
            result.next_at = std::min(result.next_at.value_or(*next), *next);
        }
    }
    for (const worker_claim_answer& each : result.answers) {
        if (each.what == worker_claim_answer::verdict::claimed) {
            for (const task_record& task : each.tasks) {
                events_.add(task);
            }
        }
    }
    return result;
}

// ---- polls

worker_claim_answer worker_claim_operation::answer(const worker_claim& poll) {
    using verdict = worker_claim_answer::verdict;
    static const std::string held_sql = "SELECT " + std::string(task_columns) +
                                        std::string(task_names) +
                                        " FROM tasks WHERE line = ? AND rank = ? ORDER BY tasks.id";
    worker_claim_answer answer;
    const std::optional<session_row> worker = read_session(session_, poll.worker, now_.steady);
    if (!worker.has_value()) {
        return answer;
    }
    if (poll.poll < worker->last_poll) {
        answer.what = verdict::outdated;
        return answer;
    }
    if (poll.poll == worker->last_claim) {
        answer.what = verdict::repeated;
        const sqlite::rows held =
            session_.query(held_sql, running_line(worker->number), worker->last_claim);
        for (const sqlite::row each : held) {
            task_record& task = answer.tasks.emplace_back(read_named_task(each));
            read_steps(session_, task);
            read_parents(session_, task);
        }
        return answer;
    }
    if (worker->is_draining) {
        answer.what = verdict::draining;
    } else {
        answer.what = verdict::claimed;
        claim(poll, *worker, answer);
    }
    if (!answer.tasks.empty() || worker->last_poll < poll.poll) {
        session_.execute(
            "UPDATE workers SET polled_at = iif(last_poll < ?1, ?2, polled_at), heard_at = "
            "iif(last_poll < ?1, ?2, heard_at), last_poll = ?1, last_claim = iif(?3 != 0, ?1, "
            "last_claim), free = ?4 WHERE node = ?5",
            poll.poll, number_of(now_.steady), !answer.tasks.empty(),
            poll.free - answer.tasks.size(), worker->number);
    }
    return answer;
}

void worker_claim_operation::claim(const worker_claim& poll, const session_row& worker,
                                   worker_claim_answer& answer) {
    if (poll.free == 0) {
        return;
    }
    scope& poll_scope = scope_of(worker);
    if (!poll_scope.is_exhausted) {
        find_candidates(poll_scope, poll.free);
        std::size_t given = 0;
        bool has_given = true;
        while (has_given && given < poll.free) {
            has_given = false;
            for (queue_turns& each : candidates_) {
                if (given < poll.free && give_turn(each, given)) {
                    has_given = true;
                    ++given;
                }
            }
        }
        answer.tasks.resize(given);
        const task_starter::runner by{poll.worker, worker.number,
                                      static_cast<std::int64_t>(poll.poll)};
        for (queue_turns& queue : candidates_) {
            for (flow_turns& flow : queue.flows) {
                fetch(poll_scope, queue, flow, by, answer.tasks);
            }
        }
        std::erase_if(answer.tasks, [](const task_record& each) { return !each.id; });
        books_.close();
        poll_scope.is_exhausted = given < poll.free;
    }
    if (answer.tasks.size() < poll.free) {
        unsatisfied_.insert(&poll_scope);
    }
}

worker_claim_operation::scope& worker_claim_operation::scope_of(const session_row& worker) {
    if (scopes_.empty()) {
        read_queues();
    }
    const auto [found, is_new] = scopes_.try_emplace(worker.kinds + worker.queues);
    if (is_new) {
        for (const std::string& each : read_tags(worker.kinds)) {
            if (const std::optional<std::int64_t> pool = pool_of(each)) {
                found->second.pools.push_back(*pool);
            }
        }
        found->second.queues = read_tags(worker.queues);
        offer_waiting(found->second);
    }
    return found->second;
}

std::optional<std::int64_t> worker_claim_operation::pool_of(const std::string& kind) {
    const auto [known, is_new] = pools_.try_emplace(kind);
    if (is_new) {
        const sqlite::rows found = session_.query(
            "SELECT destinations.id FROM destination_kinds CROSS JOIN destinations ON kind = "
            "destination_kinds.id AND name = '' WHERE kind_name = ?",
            kind);
        if (!found.empty()) {
            known->second = found[0].get<std::int64_t>(0);
        }
    }
    return known->second;
}

void worker_claim_operation::read_queues() {
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE pending > 0 ORDER BY id";
    const sqlite::rows found = session_.query(sql);
    bool has_moved = false;
    for (const sqlite::row each : found) {
        queues_.push_back(&books_.add(read_queue(each)));
        has_moved = starter_.move_due(*queues_.back()) || has_moved;
    }
    if (has_moved) {
        books_.close();
    }
    last_turn_ =
        session_.query("SELECT value FROM meta WHERE name = 'pool_turns'").one<std::int64_t>();
}

// ---- branches

// Those whose rate allows a task again, and those that an older process has not offered.
void worker_claim_operation::offer_waiting(const scope& poll_scope) {
    static const std::string slowed_sql =
        "SELECT " + std::string(branch_columns) +
        " FROM branches WHERE pool = ? AND free_at > 0 AND free_at <= ? ORDER BY free_at LIMIT ?";
    static const std::string hidden_sql =
        "SELECT " + std::string(branch_columns) +
        " FROM branches INDEXED BY branches_hidden WHERE pool = ? AND pool > 0 AND due > 0 AND "
        "offered IS NULL LIMIT ?";
    for (const std::int64_t pool : poll_scope.pools) {
        if (!is_exhausted()) {
            offer_again(
                session_.query(slowed_sql, pool, number_of(now_.steady), move_limit - moved_));
        }
        if (!is_exhausted()) {
            offer_again(session_.query(hidden_sql, pool, move_limit - moved_));
        }
    }
}

void worker_claim_operation::offer_again(const sqlite::rows& branches) {
    for (const sqlite::row each : branches) {
        books_.add(read_branch(each)).is_changed = true;
        ++moved_;
    }
    if (!branches.empty()) {
        books_.close();
    }
}

void worker_claim_operation::find_candidates(const scope& poll_scope, std::size_t limit) {
    candidates_.clear();
    std::set<std::int64_t> with_offers;
    for (const std::int64_t pool : poll_scope.pools) {
        std::int64_t last = 0;
        for (;;) {
            const sqlite::rows next = session_.query(
                "SELECT offered FROM branches WHERE pool = ? AND offered > 0 AND offered > ? ORDER "
                "BY offered LIMIT 1",
                pool, last);
            if (next.empty()) {
                break;
            }
            last = next[0].get<std::int64_t>(0);
            with_offers.insert(last);
        }
    }
    for (queue_row* const each : queues_) {
        queue_turns queue;
        queue.row = each;
        queue.room = queue_room(*each, now_.steady);
        if (queue.room > 0 && with_offers.contains(each->id) &&
            is_wanted(poll_scope.queues, each->name)) {
            queue.last_turn = std::numeric_limits<std::int64_t>::max();
            for (const std::int64_t pool : poll_scope.pools) {
                queue.last_turn = std::min(queue.last_turn, turn_of(pool, each->id));
            }
            candidates_.push_back(std::move(queue));
        }
    }
    std::ranges::sort(candidates_, [](const queue_turns& one, const queue_turns& other) {
        return std::tie(one.last_turn, one.row->id) < std::tie(other.last_turn, other.row->id);
    });
    std::size_t with_turns = 0;  // each gets at least one turn, so `limit` of them are enough
    for (queue_turns& each : candidates_) {
        if (with_turns < limit) {
            find_flows(poll_scope, each, limit);
            with_turns += each.flows.empty() ? 0 : 1;
        }
    }
}

// As many flows as could get a turn, first those whose last turn is longest ago.
void worker_claim_operation::find_flows(const scope& poll_scope, queue_turns& queue,
                                        std::size_t limit) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(limit, queue.room));
    while (!read_flows(poll_scope, queue, wanted)) {
        books_.close();
        queue.flows.clear();
    }
    if (poll_scope.pools.size() > 1) {
        for (flow_turns& each : queue.flows) {
            complete(poll_scope, each);
        }
    }
    std::ranges::sort(queue.flows, {}, &flow_turns::order);
    if (queue.flows.size() > wanted) {
        queue.flows.resize(wanted);
    }
    for (flow_turns& each : queue.flows) {
        std::uint64_t due = 0;
        for (const branch_row* const branch : each.branches) {
            due += static_cast<std::uint64_t>(branch->due);
        }
        each.room = std::min(due, each.row->room(queue.row->limits, now_.steady));
    }
}

// False: some were offered although they may not take tasks. They are held when the ledger is
// closed, and others are to be read.
bool worker_claim_operation::read_flows(const scope& poll_scope, queue_turns& queue,
                                        std::size_t wanted) {
    static const std::string sql =
        "SELECT " + qualified("branches", branch_columns) + ", " +
        qualified("flows", flow_columns) +
        " FROM branches CROSS JOIN flows ON flows.id = flow WHERE pool = ? AND offered = ? AND "
        "offered > 0 ORDER BY branches.turn, branches.id LIMIT ?";
    bool has_outdated = false;
    std::map<std::int64_t, std::size_t> positions;  // by flow
    for (const std::int64_t pool : poll_scope.pools) {
        const sqlite::rows found = session_.query(sql, pool, queue.row->id, wanted);
        for (const sqlite::row each : found) {
            branch_row& branch = books_.add(read_branch(each));
            flow_row& flow = books_.add(read_flow(each, branch_column_count));
            if (flow.room(queue.row->limits, now_.steady) == 0) {
                branch.is_changed = true;
                ++moved_;
                has_outdated = true;
                continue;
            }
            const auto [position, is_new] = positions.try_emplace(flow.id, queue.flows.size());
            flow_turns& added = is_new ? queue.flows.emplace_back() : queue.flows[position->second];
            const std::pair<std::int64_t, std::int64_t> order(branch.turn, branch.id);
            added.order = is_new ? order : std::min(added.order, order);
            added.row = &flow;
            added.branches.push_back(&branch);
        }
    }
    return !has_outdated || is_exhausted();
}

// Adds the branches of the flow that are further back in the index of their pool, or have no due
// tasks: they share the turns.
void worker_claim_operation::complete(const scope& poll_scope, flow_turns& flow) {
    static const std::string sql = "SELECT " + std::string(branch_columns) +
                                   " FROM branches WHERE flow = ? AND destination = ?";
    for (const std::int64_t pool : poll_scope.pools) {
        if (std::ranges::find(flow.branches, pool, &branch_row::destination) !=
            flow.branches.end()) {
            continue;
        }
        const sqlite::rows found = session_.query(sql, flow.row->id, pool);
        if (!found.empty()) {
            branch_row& branch = books_.add(read_branch(found[0]));
            flow.branches.push_back(&branch);
            if (branch.due > 0) {
                flow.order = std::min(flow.order, std::pair(branch.turn, branch.id));
            }
        }
    }
}

// ---- turns

std::int64_t& worker_claim_operation::turn_of(std::int64_t pool, std::int64_t queue) {
    const auto [known, is_new] = turns_.try_emplace({pool, queue}, 0);
    if (is_new) {
        const sqlite::rows found =
            session_.query("SELECT turn FROM pool_turns WHERE pool = ? AND queue = ?", pool, queue);
        known->second = found.empty() ? 0 : found[0].get<std::int64_t>(0);
    }
    return known->second;
}

void worker_claim_operation::write_turns() {
    for (const auto& [place, turn] : turns_) {
        session_.execute(
            "INSERT INTO pool_turns(pool, queue, turn) VALUES (?1, ?2, ?3) ON CONFLICT(pool, "
            "queue) DO UPDATE SET turn = ?3 WHERE pool_turns.turn != ?3",
            place.first, place.second, turn);
    }
    session_.execute("UPDATE meta SET value = ? WHERE name = 'pool_turns'", last_turn_);
}

bool worker_claim_operation::give_turn(queue_turns& queue, std::size_t turn) {
    if (queue.room == 0) {
        return false;
    }
    for (std::size_t seen = 0; seen < queue.flows.size(); ++seen) {
        flow_turns& next = queue.flows[queue.next_flow];
        queue.next_flow = (queue.next_flow + 1) % queue.flows.size();
        if (next.room > 0) {
            --next.room;
            --queue.room;
            next.turns.push_back(turn);
            queue.last_turn = ++last_turn_;
            for (branch_row* const each : next.branches) {
                each->turn = last_turn_;
                each->has_moved = true;
                each->is_changed = true;
            }
            has_turns_ = true;
            return true;
        }
    }
    queue.room = 0;
    return false;
}

void worker_claim_operation::fetch(const scope& poll_scope, queue_turns& queue, flow_turns& flow,
                                   const task_starter::runner& by,
                                   std::vector<task_record>& tasks) {
    static const std::string first_sql = "SELECT " + std::string(task_columns) +
                                         " FROM tasks WHERE line = ? ORDER BY rank, id LIMIT ?";
    static const std::string one_sql =
        "SELECT " + std::string(task_columns) + " FROM tasks WHERE id = ?";
    const std::size_t count = flow.turns.size();
    if (count == 0) {
        return;
    }
    std::size_t turn = 0;
    std::size_t started = 0;
    if (flow.branches.size() == 1) {
        branch_row& from = *flow.branches[0];
        const sqlite::rows found = session_.query(first_sql, branch_line(from.id), count);
        for (const sqlite::row each : found) {
            started += start(each, queue, flow, from, by, tasks[flow.turns[turn++]]) ? 1 : 0;
        }
    } else {
        // By priority and age, over all branches.
        std::vector<std::tuple<std::int64_t, std::int64_t, branch_row*>> first;
        for (branch_row* const each : flow.branches) {
            const sqlite::rows found = session_.query(
                "SELECT rank, id FROM tasks WHERE line = ? ORDER BY rank, id LIMIT ?",
                branch_line(each->id), count);
            for (const sqlite::row task : found) {
                first.emplace_back(task.get<std::int64_t>(0), task.get<std::int64_t>(1), each);
            }
        }
        std::ranges::sort(first);
        first.resize(std::min(first.size(), count));
        for (const auto& [rank, id, from] : first) {
            const sqlite::rows found = session_.query(one_sql, id);
            task_record& task = tasks[flow.turns[turn++]];
            started += start(found[0], queue, flow, *from, by, task) ? 1 : 0;
        }
    }
    for (const std::int64_t pool : poll_scope.pools) {
        turn_of(pool, queue.row->id) = queue.last_turn;
    }
    rate_bucket queue_bucket = queue.row->bucket();
    queue_bucket.take(now_.steady, started);
    queue.row->full_at = queue_bucket.full_at();
    rate_bucket key_bucket = flow.row->bucket(queue.row->limits);
    if (key_bucket.is_limited()) {
        key_bucket.take(now_.steady, started);
        flow.row->full_at = key_bucket.full_at();
        flow.row->has_moved = true;
    }
}

bool worker_claim_operation::start(const sqlite::row& row, queue_turns& queue, flow_turns& flow,
                                   branch_row& from, const task_starter::runner& by,
                                   task_record& task) {
    task = starter_.start(row, {*queue.row, *flow.row, &from}, by);
    task.is_remote = true;
    return static_cast<bool>(task.id);
}

// ---- what comes next

bool worker_claim_operation::has_offers(const scope& poll_scope, std::int64_t queue) {
    return std::ranges::any_of(poll_scope.pools, [&](std::int64_t pool) {
        return !session_
                    .query(
                        "SELECT 1 FROM branches WHERE pool = ? AND offered = ? AND offered > 0 "
                        "LIMIT 1",
                        pool, queue)
                    .empty();
    });
}

std::optional<timestamp> worker_claim_operation::next_at(const scope& poll_scope) {
    if (starter_.has_more_to_move() || is_exhausted()) {
        return now_.steady;
    }
    std::optional<timestamp> earliest;
    const auto consider = [&](timestamp at) {
        earliest = std::min(earliest.value_or(timestamp::max()), std::max(at, now_.steady));
    };
    for (const std::int64_t pool : poll_scope.pools) {
        const auto freed =
            session_.query("SELECT min(free_at) FROM branches WHERE pool = ? AND free_at > 0", pool)
                .one<std::optional<std::int64_t>>();
        if (freed.has_value()) {
            consider(time_of(*freed));
        }
    }
    for (queue_row* const each : queues_) {
        if (each->is_paused || each->is_full() || !is_wanted(poll_scope.queues, each->name)) {
            continue;
        }
        const timestamp allowed_at = each->bucket().next(now_.steady);
        if (const std::optional<timestamp> due_at = starter_.next_due(*each)) {
            consider(std::max(*due_at, allowed_at));
        }
        if (allowed_at > now_.steady && has_offers(poll_scope, each->id)) {
            consider(allowed_at);
        }
    }
    return earliest;
}

}  // namespace weir::service::detail
