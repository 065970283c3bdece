// SPDX-License-Identifier: MIT
// Epochs count up from a random number, so that a position of an earlier life of a topic, or of an
// earlier run of the program, is recognised.

#include "ws/hub/topic_table.hpp"

#include "base/quoted.hpp"

#include <weir/io/error.hpp>
#include <weir/loop.hpp>

namespace weir::ws::detail {

namespace {

std::uint64_t first_epoch() {
    if (loop* const running = loop::current_or_null()) {
        return running->fresh_seed();
    }
    return hash_seed::random().first;
}

}  // namespace

topic_table::topic_table(const hub_options& limits, message_store& store)
    : limits_(limits),
      store_(store),
      epoch_(first_epoch()),
      topics_(0, name_hash{hash_seed::random()}) {}

topic* topic_table::find(std::string_view name) noexcept {
    const auto found = topics_.find(name);
    return found == topics_.end() ? nullptr : &found->second;
}

topic& topic_table::find_or_make(std::string_view name, hub_core& hub, hub_stats& stats) {
    if (topic* const found = find(name)) {
        return *found;
    }
    if (name.size() > limits_.max_topic_name) {
        throw limit_exceeded("ws::hub: the name of topic " + base::quoted(name) + " has " +
                             std::to_string(name.size()) + " bytes; at most " +
                             std::to_string(limits_.max_topic_name) +
                             " are allowed (max_topic_name)");
    }
    if (topics_.size() >= limits_.max_topics) {
        make_room(name);
    }
    const auto made = topics_.try_emplace(std::string(name), hub, stats, next_epoch()).first;
    epoch_ = next_epoch();
    made->second.set_name(made->first);
    return made->second;
}

void topic_table::make_room(std::string_view name) {
    if (idle_.empty()) {
        throw limit_exceeded("ws::hub: there is no room for topic " + base::quoted(name) + ": " +
                             std::to_string(topics_.size()) + " are in use (max_topics)");
    }
    topic& unused = idle_.front();
    while (unused.log.count != 0) {
        store_.drop_oldest(unused.log);
    }
    drop_if_unused(unused);
}

position topic_table::next_position(std::string_view name) noexcept {
    const topic* const found = find(name);
    return found != nullptr ? found->next() : position{next_epoch(), 1};
}

void topic_table::pin(topic& topic) noexcept {
    topic.pin();
    if (topic.is_linked()) {
        idle_.remove(topic);
    }
}

void topic_table::unpin(topic& topic) noexcept {
    topic.unpin();
    drop_if_unused(topic);
}

void topic_table::drop_if_unused(topic& topic) noexcept {
    if (topic.is_linked()) {
        idle_.remove(topic);
    }
    if (topic.is_in_use()) {
        return;
    }
    if (topic.log.count != 0) {
        idle_.push_back(topic);
    } else {
        topics_.erase(topics_.find(topic.name()));
    }
}

void topic_table::close_all() noexcept {
    for (auto& [name, each] : topics_) {
        each.close();
    }
}

}  // namespace weir::ws::detail
