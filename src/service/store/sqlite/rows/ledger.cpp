// SPDX-License-Identifier: MIT
// A transaction touches few queues and often one flow, however many tasks it has, so each row is
// read once and written once. The place of a row follows from its counts and limits: close()
// computes it, and updates the indexed columns only if they change. A branch is parked while its
// destination has no room for it, and behind other parked branches until a claim wakes it. A branch
// of a pool is offered or held as its flow is when the transaction changes the branch; a flow that
// becomes free offers what it holds. A branch that is still offered although its flow has become
// full by tasks of other branches is held by the claim that finds it.

#include "service/store/sqlite/rows/ledger.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>

namespace weir::service::detail {

namespace {

using whereabouts = flow_row::whereabouts;

std::string known_by(std::int64_t queue, std::string_view key) {
    std::string name = std::to_string(queue);
    return name.append(" ").append(key);
}

// As if it had due tasks.
whereabouts busy_place_of(const flow_row& flow, const queue_limits& limits,
                          timestamp now) noexcept {
    if (flow.own.is_paused) {
        return whereabouts::paused;
    }
    if (flow.is_full(limits)) {
        return whereabouts::full;
    }
    return flow.bucket(limits).available(now) == 0 ? whereabouts::slowed : whereabouts::ready;
}

whereabouts place_of(const flow_row& flow, const queue_limits& limits, timestamp now) noexcept {
    return flow.due == 0 && flow.ready_branches == 0 ? whereabouts::idle
                                                     : busy_place_of(flow, limits, now);
}

destination_row::whereabouts place_of(destination_row& row, timestamp now) noexcept {
    if (row.parked == 0) {
        return destination_row::whereabouts::idle;
    }
    if (row.gate().is_full()) {
        return destination_row::whereabouts::full;
    }
    return row.gate().free_at(now) > now ? destination_row::whereabouts::slowed
                                         : destination_row::whereabouts::ready;
}

}  // namespace

queue_row& ledger::add(queue_row row) {
    return queues_.emplace_back(std::move(row));
}

flow_row& ledger::add(flow_row row) {
    const auto found = flows_by_id_.find(row.id);
    if (found != flows_by_id_.end()) {
        return *found->second;
    }
    flow_row& added = flows_.emplace_back(std::move(row));
    flows_by_id_.emplace(added.id, &added);
    return added;
}

flow_row& ledger::add_by_key(flow_row row) {
    flow_row& added = add(std::move(row));
    flows_by_key_[known_by(added.queue, added.key)] = &added;
    return added;
}

bool ledger::has_queue(std::int64_t id) const noexcept {
    return std::ranges::find(queues_, id, &queue_row::id) != queues_.end();
}

queue_row& ledger::queue(std::int64_t id) {
    for (queue_row& each : queues_) {
        if (each.id == id) {
            return each;
        }
    }
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE id = ?";
    const sqlite::rows found = session_.query(sql, id);
    return add(read_queue(found[0]));
}

bool has_room_for_queue(sql_session& session, std::string_view name, std::size_t max_queues) {
    return name == default_queue ||
           session.query("SELECT count(*) FROM queues").one<std::uint64_t>() < max_queues;
}

queue_row* ledger::queue(std::string_view name, std::size_t max_queues) {
    for (queue_row& each : queues_) {
        if (each.name == name) {
            return &each;
        }
    }
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE name = ?";
    const sqlite::rows found = session_.query(sql, name);
    if (!found.empty()) {
        return &add(read_queue(found[0]));
    }
    if (!has_room_for_queue(session_, name, max_queues)) {
        return nullptr;
    }
    queue_row made;
    made.name = name;
    made.id = session_.query("INSERT INTO queues(name) VALUES (?) RETURNING id", name)
                  .one<std::int64_t>();
    return &add(std::move(made));
}

flow_row& ledger::flow(std::int64_t id) {
    const auto known = flows_by_id_.find(id);
    if (known != flows_by_id_.end()) {
        return *known->second;
    }
    static const std::string sql =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE id = ?";
    const sqlite::rows found = session_.query(sql, id);
    return add(read_flow(found[0]));
}

flow_row& ledger::flow(queue_row& queue, std::string_view key) {
    flow_row*& known = flows_by_key_[known_by(queue.id, key)];
    if (known != nullptr) {
        return *known;
    }
    static const std::string sql =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE queue = ? AND key = ?";
    const sqlite::rows found = session_.query(sql, queue.id, key);
    if (!found.empty()) {
        known = &add(read_flow(found[0]));
        return *known;
    }
    // After all other flows: a key that comes and goes must not be first each time.
    flow_row made;
    made.queue = queue.id;
    made.key = key;
    made.turn = queue.turn;
    made.id = session_
                  .query("INSERT INTO flows(queue, key, turn) VALUES (?, ?, ?) RETURNING id",
                         queue.id, key, queue.turn)
                  .one<std::int64_t>();
    known = &add(std::move(made));
    return *known;
}

// ---- branches and destinations

branch_row& ledger::add(branch_row row) {
    const auto found = branches_by_id_.find(row.id);
    if (found != branches_by_id_.end()) {
        return *found->second;
    }
    branch_row& added = branches_.emplace_back(std::move(row));
    branches_by_id_.emplace(added.id, &added);
    return added;
}

destination_row& ledger::add(destination_row row) {
    const auto found = destinations_by_id_.find(row.id);
    if (found != destinations_by_id_.end()) {
        return *found->second;
    }
    destination_row& added = destinations_.emplace_back(std::move(row));
    destinations_by_id_.emplace(added.id, &added);
    return added;
}

branch_row& ledger::branch(std::int64_t id) {
    const auto known = branches_by_id_.find(id);
    if (known != branches_by_id_.end()) {
        return *known->second;
    }
    static const std::string sql =
        "SELECT " + std::string(branch_columns) + " FROM branches WHERE id = ?";
    const sqlite::rows found = session_.query(sql, id);
    return add(read_branch(found[0]));
}

// After all other branches of a pool, as new flows.
std::int64_t ledger::first_turn(const flow_row& flow, const destination_row& destination) {
    if (!destination.is_pool()) {
        return flow.turn;
    }
    const sqlite::rows found = session_.query(
        "SELECT turn FROM pool_turns WHERE pool = ? AND queue = ?", destination.id, flow.queue);
    return found.empty() ? 0 : found[0].get<std::int64_t>(0);
}

branch_row& ledger::branch(const flow_row& flow, const destination_row& destination) {
    branch_row*& known = branches_by_destination_[{flow.id, destination.id}];
    if (known != nullptr) {
        return *known;
    }
    static const std::string sql = "SELECT " + std::string(branch_columns) +
                                   " FROM branches WHERE flow = ? AND destination = ?";
    const sqlite::rows found = session_.query(sql, flow.id, destination.id);
    if (!found.empty()) {
        known = &add(read_branch(found[0]));
        return *known;
    }
    branch_row made;
    made.flow = flow.id;
    made.destination = destination.id;
    made.turn = first_turn(flow, destination);
    if (destination.is_pool()) {
        made.pool = destination.id;
    }
    made.id =
        session_
            .query(
                "INSERT INTO branches(flow, destination, turn, pool) VALUES (?, ?, ?, ?) RETURNING "
                "id",
                made.flow, made.destination, made.turn, made.pool)
            .one<std::int64_t>();
    session_.execute("UPDATE destinations SET branches = branches + 1 WHERE id = ?",
                     made.destination);
    known = &add(std::move(made));
    return *known;
}

destination_row& ledger::destination(std::int64_t id) {
    const auto known = destinations_by_id_.find(id);
    if (known != destinations_by_id_.end()) {
        return *known->second;
    }
    static const std::string sql = std::string(destination_query) + "destinations.id = ?";
    const sqlite::rows found = session_.query(sql, id);
    return add(read_destination(found[0]));
}

destination_row& ledger::destination(std::string_view kind, std::string_view name) {
    std::string known_by(kind);
    known_by.append(" ").append(name);
    destination_row*& known = destinations_by_name_[std::move(known_by)];
    if (known != nullptr) {
        return *known;
    }
    static const std::string sql =
        std::string(destination_query) + "kind = ? AND destinations.name = ?";
    const std::int64_t of_kind = kind_id(kind);
    sqlite::rows found = session_.query(sql, of_kind, name);
    if (found.empty()) {
        session_.execute("INSERT INTO destinations(kind, name, not_before) VALUES (?, ?, ?)",
                         of_kind, name, name.empty() ? pool_pause : 0);
        found = session_.query(sql, of_kind, name);
    }
    known = &add(read_destination(found[0]));
    return *known;
}

std::int64_t ledger::kind_id(std::string_view kind) {
    const sqlite::rows found =
        session_.query("SELECT id FROM destination_kinds WHERE kind_name = ?", kind);
    if (!found.empty()) {
        return found[0].get<std::int64_t>(0);
    }
    return session_.query("INSERT INTO destination_kinds(kind_name) VALUES (?) RETURNING id", kind)
        .one<std::int64_t>();
}

// ---- counts

task_place ledger::place(std::int64_t in_queue, std::int64_t in_flow,
                         std::optional<std::int64_t> in_branch) {
    return {queue(in_queue), flow(in_flow), in_branch.has_value() ? &branch(*in_branch) : nullptr};
}

void ledger::count(const task_place& place, standing counted, int change) {
    const auto more = static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    place.queue.count(counted.state) += more;
    const bool is_due = counted.state == task_state::pending && counted.is_due;
    const bool is_running = counted.state == task_state::running;
    place.queue.due += is_due ? more : 0;
    place.flow.running += is_running ? change : 0;
    if (place.branch == nullptr) {
        place.flow.due += is_due ? change : 0;
        if (is_due && change > 0) {
            place.flow.head.reset();  // it may be before all others
        }
    } else {
        place.branch->due += is_due ? change : 0;
        place.branch->is_changed = true;
        if (is_due || is_running) {
            destination_row& to = destination(place.branch->destination);
            to.due += is_due ? change : 0;
            to.state.running += is_running ? change : 0;
            to.is_changed = true;
        }
    }
    place.queue.is_changed = true;
    place.flow.is_changed = true;
}

void ledger::enters(const task_place& place, standing counted) {
    ++place.flow.tasks;
    if (place.branch != nullptr) {
        ++place.branch->tasks;
    }
    count(place, counted, 1);
}

void ledger::enters(const task_place& place, standing counted, const place_in_line& at) {
    const std::optional<place_in_line> head = place.flow.head;
    enters(place, counted);
    keep_head(place, head, at);
}

void ledger::moves(const task_place& place, standing from, standing to) {
    count(place, from, -1);
    count(place, to, 1);
}

void ledger::moves(const task_place& place, standing from, standing to, const place_in_line& at) {
    const std::optional<place_in_line> head = place.flow.head;
    moves(place, from, to);
    keep_head(place, head, at);
}

void ledger::keep_head(const task_place& place, const std::optional<place_in_line>& head,
                       const place_in_line& at) {
    if (head.has_value() && !place.flow.head.has_value()) {
        place.flow.head = std::min(*head, at);
    }
}

void ledger::leaves(const task_place& place, standing counted) {
    --place.flow.tasks;
    if (place.branch != nullptr) {
        --place.branch->tasks;
    }
    count(place, counted, -1);
}

void ledger::close() {
    session_.perform_rows();
    for (branch_row& each : branches_) {
        if (each.is_changed) {
            settle_place(each);
            write(each);
        }
    }
    for (destination_row& each : destinations_) {
        if (each.is_changed) {
            write(each);
        }
    }
    for (flow_row& each : flows_) {
        if (each.is_changed) {
            write(each);
        }
    }
    for (queue_row& each : queues_) {
        if (each.is_changed) {
            write(each);
        }
    }
}

void ledger::settle_place(branch_row& row) {
    using branch_place = branch_row::whereabouts;
    if (row.pool.has_value()) {
        settle_offer(row);
        return;
    }
    branch_place next = branch_place::idle;
    destination_row& to = destination(row.destination);
    if (row.due > 0) {
        const bool is_next = row.is_woken || row.place == branch_place::ready ||
                             to.parked == (row.place == branch_place::parked ? 1 : 0);
        next =
            is_next && to.gate().room(now_.steady) > 0 ? branch_place::ready : branch_place::parked;
    }
    if (next == branch_place::ready && !read_first(row)) {
        to.due -= row.due;
        to.is_changed = true;
        row.due = 0;
        next = branch_place::idle;
    }
    row.is_woken = false;
    set_place(row, next);
}

void ledger::set_place(branch_row& row, branch_row::whereabouts next) {
    using branch_place = branch_row::whereabouts;
    if (next == row.place) {
        return;
    }
    const auto change = [&](branch_place counted) {
        return (next == counted ? 1 : 0) - (row.place == counted ? 1 : 0);
    };
    if (const int ready = change(branch_place::ready); ready != 0) {
        flow_row& in = flow(row.flow);
        in.ready_branches += ready;
        in.is_changed = true;
    }
    if (const int parked = change(branch_place::parked); parked != 0) {
        destination_row& to = destination(row.destination);
        to.parked += parked;
        to.is_changed = true;
    }
    row.place = next;
    row.has_moved = true;
}

// Of a branch of a pool.
void ledger::settle_offer(branch_row& row) {
    set_place(row, row.due > 0 ? branch_row::whereabouts::parked : branch_row::whereabouts::idle);
    flow_row& in = flow(row.flow);
    std::optional<std::int64_t> offered;
    std::int64_t free_at = 0;
    if (row.due > 0) {
        const queue_limits& limits = queue(in.queue).limits;
        const whereabouts place = busy_place_of(in, limits, now_.steady);
        offered = place == whereabouts::ready ? in.queue : 0;
        free_at = place == whereabouts::slowed ? number_of(in.bucket(limits).next(now_.steady)) : 0;
    }
    if (offered == row.offered && free_at == row.free_at) {
        return;
    }
    const int held = (offered == 0 ? 1 : 0) - (row.offered == 0 ? 1 : 0);
    if (held != 0) {
        in.held_branches += held;
        in.is_changed = true;
    }
    row.offered = offered;
    row.free_at = free_at;
    row.has_moved = true;
}

// The flow was full or paused, and only its rate holds its branches now.
void ledger::slow_held(const flow_row& row, std::int64_t free_at) {
    session_.execute(
        "UPDATE branches SET free_at = ? WHERE flow = ? AND offered = 0 AND free_at = 0", free_at,
        row.id);
    for (branch_row& each : branches_) {
        if (each.flow == row.id && each.offered == 0 && each.free_at == 0) {
            each.free_at = free_at;
        }
    }
}

void ledger::offer_held(flow_row& row) {
    session_.execute("UPDATE branches SET offered = ?, free_at = 0 WHERE flow = ? AND offered = 0",
                     row.queue, row.id);
    for (branch_row& each : branches_) {
        if (each.flow == row.id && each.offered == 0) {
            each.offered = row.queue;
            each.free_at = 0;
        }
    }
    row.held_branches = 0;
}

// False if the line is empty: a process of an older version does not count branches, so it may
// have taken the tasks from there.
bool ledger::read_first(branch_row& row) {
    const sqlite::rows first = session_.query(
        "SELECT rank, id FROM tasks WHERE line = ? ORDER BY rank, id LIMIT 1", branch_line(row.id));
    if (first.empty()) {
        return false;
    }
    const auto rank = first[0].get<std::int64_t>(0);
    const auto head = first[0].get<std::int64_t>(1);
    row.has_moved = row.has_moved || rank != row.rank || head != row.head;
    row.rank = rank;
    row.head = head;
    return true;
}

void ledger::write(branch_row& row) {
    if (row.has_moved) {
        session_.execute_row(
            "UPDATE branches SET tasks = ?, due = ?, rank = ?, head = ?, turn = ?, place = ?, "
            "offered = ?, free_at = ? WHERE id = ?",
            row.tasks, row.due, row.rank, row.head, row.turn, static_cast<int>(row.place),
            row.offered, row.free_at, row.id);
    } else {
        session_.execute_row("UPDATE branches SET tasks = ?, due = ? WHERE id = ?", row.tasks,
                             row.due, row.id);
    }
    row.is_changed = false;
    row.has_moved = false;
}

void ledger::write(destination_row& row) {
    row.place = place_of(row, now_.steady);
    row.free_at = row.place == destination_row::whereabouts::slowed
                      ? number_of(row.gate().free_at(now_.steady))
                      : 0;
    session_.execute_row(
        "UPDATE destinations SET parked = ?, due = ?, running = ?, failures = ?, full_at = ?, "
        "not_before = ?, open_until = ?, turn = ?, place = ?, free_at = ? WHERE id = ?",
        row.parked, row.due, row.state.running, row.state.failures, row.state.full_at,
        row.state.not_before, row.state.open_until, row.turn, static_cast<int>(row.place),
        row.free_at, row.id);
    row.is_changed = false;
}

void ledger::write(queue_row& row) {
    session_.execute_row(
        "UPDATE queues SET pending = ?, running = ?, completed = ?, failed = ?, cancelled = ?, "
        "due = ?, turn = ?, full_at = ?, used_at = ? WHERE id = ?",
        row.counts[0], row.counts[1], row.counts[2], row.counts[3], row.counts[4], row.due,
        row.turn, row.full_at, number_of(now_.at), row.id);
    row.is_changed = false;
}

void ledger::write(flow_row& row) {
    const queue_limits& limits = queue(row.queue).limits;
    const whereabouts place = place_of(row, limits, now_.steady);
    if (row.held_branches > 0) {
        const whereabouts busy_place = busy_place_of(row, limits, now_.steady);
        if (busy_place == whereabouts::ready) {
            offer_held(row);
        } else if (busy_place == whereabouts::slowed) {
            slow_held(row, number_of(row.bucket(limits).next(now_.steady)));
        }
    }
    const std::int64_t free_at = place == whereabouts::slowed
                                     ? number_of(row.bucket(limits).next(now_.steady))
                                     : row.free_at;
    std::optional<std::int64_t> head_rank;
    std::optional<std::int64_t> head_id;
    if (row.head.has_value()) {
        head_rank = row.head->rank;
        head_id = row.head->id;
    }
    if (row.has_moved || place != row.place || free_at != row.free_at) {
        row.place = place;
        row.free_at = free_at;
        session_.execute_row(
            "UPDATE flows SET tasks = ?, due = ?, running = ?, ready_branches = ?, held_branches = "
            "?, head_rank = ?, head_id = ?, turn = ?, full_at = ?, place = ?, free_at = ? WHERE id "
            "= ?",
            row.tasks, row.due, row.running, row.ready_branches, row.held_branches, head_rank,
            head_id, row.turn, row.full_at, static_cast<int>(place), free_at, row.id);
    } else {
        session_.execute_row(
            "UPDATE flows SET tasks = ?, due = ?, running = ?, ready_branches = ?, held_branches = "
            "?, head_rank = ?, head_id = ? WHERE id = ?",
            row.tasks, row.due, row.running, row.ready_branches, row.held_branches, head_rank,
            head_id, row.id);
    }
    row.is_changed = false;
    row.has_moved = false;
}

}  // namespace weir::service::detail
