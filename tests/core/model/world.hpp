// SPDX-License-Identifier: MIT
// What the nodes of a program share while Weir runs it: handles, scopes, locks and the trace.
#pragma once

#include "program.hpp"

#include <weir/weir.hpp>

#include <charconv>
#include <optional>
#include <unordered_map>

namespace model {

struct node_error : std::runtime_error {
    int number;
    explicit node_error(int id) : std::runtime_error("error of a node"), number(id) {}
};

inline std::string reason_text(int reason) {
    return reason == 0 ? std::string() : std::to_string(reason);
}
inline int reason_number(const std::string& text) {
    int number = 0;
    if (!text.empty() &&
        std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) {
        return -1;  // of the library
    }
    return number;
}

inline ending to_ending(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const node_error& thrown) {
        return {ending::kind::error, thrown.number};
    } catch (const weir::timed_out&) {
        return {ending::kind::timed_out};
    } catch (const weir::cancelled& thrown) {
        return {ending::kind::cancelled, reason_number(thrown.reason())};
    } catch (const weir::error_group& thrown) {
        ending all{ending::kind::group};
        for (const std::exception_ptr& each : thrown.errors()) {
            all.parts.push_back(to_ending(each));
        }
        return all;
    } catch (...) {
        return {ending::kind::misuse};
    }
}

inline ending to_ending(const weir::outcome<int>& outcome) {
    if (outcome.has_value()) {
        return {ending::kind::value, outcome.value()};
    }
    if (outcome.is_stop()) {
        return {ending::kind::stopped, reason_number(outcome.reason())};
    }
    return to_ending(outcome.error());
}

inline ending to_ending(weir::ending how) {
    return {how == weir::ending::value   ? ending::kind::value
            : how == weir::ending::error ? ending::kind::error
                                         : ending::kind::stopped};
}

class world {
public:
    explicit world(const program& run)
        : seen(static_cast<std::size_t>(count_nodes(run)) + 1),
          fibers(seen.size()),
          handles(seen.size()),
          scopes(seen.size()),
          groups(seen.size()) {}

    trace seen;
    std::vector<weir::any_handle> fibers;     // by the id of their first node
    std::vector<weir::handle<int>> handles;   // of those that can be awaited
    std::vector<weir::cancel_scope*> scopes;  // while they exist
    std::vector<std::optional<weir::task_group>> groups;
    weir::mutex mutexes[2];
    weir::semaphore permits{2};
    weir::queue<int> items{1};

    record& of(const node& at) { return seen[static_cast<std::size_t>(at.id)]; }
    // The loop is about to give a fiber or a callback its turn.
    void next_turn(const weir::detail::ready_item& whose) { turns_.push_back(&whose); }
    void note_event(std::size_t index) {
        seen[0].turns.resize(std::max(seen[0].turns.size(), index + 1));
        seen[0].turns[index] = static_cast<std::uint32_t>(turns_.size());
    }
    void note_turns() {
        std::unordered_map<const weir::detail::ready_item*, std::size_t> known;
        for (std::size_t id = 1; id < fibers.size(); ++id) {
            if (fibers[id].valid()) {
                known[&fibers[id].checked()] = id;
            }
        }
        for (std::size_t turn = 0; turn < turns_.size(); ++turn) {
            if (const auto found = known.find(turns_[turn]); found != known.end()) {
                seen[found->second].turns.push_back(static_cast<std::uint32_t>(turn + 1));
            }
        }
    }
    std::int64_t now() const { return (weir::now() - start_).count(); }
    weir::clock::time_point at(std::int64_t time) const {
        return start_ + weir::clock::duration(time);
    }
    void cancel(int target, int reason) {
        const auto id = static_cast<std::size_t>(std::abs(target));
        if (target > 0) {
            if (fibers[id].valid()) {
                fibers[id].cancel(reason_text(reason));
            }
        } else if (scopes[id] != nullptr) {
            scopes[id]->cancel(reason_text(reason));
        } else if (groups[id].has_value()) {
            groups[id]->cancel();
        }
    }

private:
    weir::clock::time_point start_ = weir::now();
    std::vector<const weir::detail::ready_item*> turns_;
};

// Notes when a node begins and ends; destroyed without a word, it was stopped.
class recorder {
public:
    recorder(world& in, const node& at) : world_(in), record_(in.of(at)) {
        record_.begun = in.now();
    }
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;
    ~recorder() {
        record_.ended = world_.now();
        if (record_.how.how == ending::kind::none) {
            record_.how.how = ending::kind::stopped;
        }
    }
    int value(int given) {
        record_.how = {ending::kind::value, given};
        return given;
    }
    void error() { record_.how = to_ending(std::current_exception()); }

private:
    world& world_;
    record& record_;
};

}  // namespace model
