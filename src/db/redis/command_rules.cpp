// SPDX-License-Identifier: MIT
// The table has the commands of Redis 7 that leave something behind on their connection; the tests
// hold it against the command table of a server.

#include <weir/db/redis/detail/command_rules.hpp>
#include <weir/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace weir::redis::detail {

namespace {

// The second one is in capitals.
bool is_word(std::string_view word, std::string_view name) noexcept {
    return word.size() == name.size() &&
           std::equal(word.begin(), word.end(), name.begin(), [](char one, char other) {
               return (one >= 'a' && one <= 'z' ? one - 'a' + 'A' : one) == other;
           });
}

struct rule {
    std::string_view name;
    command_effect effect;
    std::string_view second = {};  // empty: any
};

constexpr std::array rules = {
    rule{"MULTI", command_effect::begins_transaction},
    rule{"EXEC", command_effect::ends_transaction},
    rule{"DISCARD", command_effect::ends_transaction},
    rule{"WATCH", command_effect::watches},
    rule{"UNWATCH", command_effect::unwatches},
    rule{"SELECT", command_effect::changes_session},
    rule{"AUTH", command_effect::changes_session},
    rule{"RESET", command_effect::changes_session},
    rule{"QUIT", command_effect::changes_session},
    rule{"READONLY", command_effect::changes_session},
    rule{"READWRITE", command_effect::changes_session},
    rule{"ASKING", command_effect::changes_session},
    rule{"SWAPDB", command_effect::none},  // of all connections
    rule{"CLIENT", command_effect::changes_session, "TRACKING"},
    rule{"CLIENT", command_effect::changes_session, "CACHING"},
    rule{"CLIENT", command_effect::changes_session, "SETNAME"},
    rule{"CLIENT", command_effect::changes_session, "SETINFO"},
    rule{"CLIENT", command_effect::changes_session, "NO-EVICT"},
    rule{"CLIENT", command_effect::changes_session, "NO-TOUCH"},
    rule{"SCRIPT", command_effect::changes_session, "DEBUG"},
    rule{"CLIENT", command_effect::changes_replies, "REPLY"},
    rule{"HELLO", command_effect::changes_replies},
    rule{"MONITOR", command_effect::changes_replies},
    rule{"SUBSCRIBE", command_effect::changes_replies},
    rule{"PSUBSCRIBE", command_effect::changes_replies},
    rule{"SSUBSCRIBE", command_effect::changes_replies},
    rule{"UNSUBSCRIBE", command_effect::changes_replies},
    rule{"PUNSUBSCRIBE", command_effect::changes_replies},
    rule{"SUNSUBSCRIBE", command_effect::changes_replies},
    rule{"SYNC", command_effect::changes_replies},
    rule{"PSYNC", command_effect::changes_replies},
    rule{"REPLCONF", command_effect::changes_replies},
};

constexpr std::array<std::string_view, 13> blocking = {
    "BLPOP",  "BRPOP", "BLMOVE",     "BLMPOP", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX",
    "BZMPOP", "XREAD", "XREADGROUP", "WAIT",   "WAITAOF",    "SHUTDOWN",
};

[[noreturn]] void refuse(std::string_view name, std::string_view second, const char* reason) {
    std::string command(name);
    if (is_word(name, "CLIENT") || is_word(name, "SCRIPT")) {
        command += " " + std::string(second);
    }
    throw invalid_argument("redis: " + command + " " + reason);
}

constexpr const char* not_answered_once =
    "changes how Redis answers; subscribe() has a connection for messages";

}  // namespace

command_effect effect_of(std::string_view name, std::string_view second) noexcept {
    for (const rule& each : rules) {
        if (is_word(name, each.name) && (each.second.empty() || is_word(second, each.second))) {
            return each.effect;
        }
    }
    return command_effect::none;
}

bool may_block(std::string_view name) noexcept {
    return std::any_of(blocking.begin(), blocking.end(),
                       [&](std::string_view each) { return is_word(name, each); });
}

void check_for_shared(std::string_view name, std::string_view second) {
    switch (effect_of(name, second)) {
        case command_effect::none:
            return;
        case command_effect::changes_replies:
            refuse(name, second, not_answered_once);
        case command_effect::changes_session:
            refuse(name, second,
                   "changes the connection that all tasks of the client share; use the client's "
                   "options, or connect() for a connection of one's own");
        case command_effect::begins_transaction:
        case command_effect::ends_transaction:
        case command_effect::watches:
        case command_effect::unwatches:
            refuse(name, second,
                   "would include the commands of other tasks on the connection that all share; "
                   "send a batch from MULTI to EXEC, or connect() for a connection of one's own");
    }
}

void check_for_dedicated(std::string_view name, std::string_view second) {
    if (effect_of(name, second) == command_effect::changes_replies) {
        refuse(name, second, not_answered_once);
    }
}

void batch_rules::add(std::string_view name, std::string_view second) {
    switch (effect_of(name, second)) {
        case command_effect::none:
            break;
        case command_effect::begins_transaction:
            is_in_transaction_ = true;
            break;
        case command_effect::ends_transaction:
            is_in_transaction_ = false;
            is_watching_ = false;
            break;
        case command_effect::watches:
            is_watching_ = true;
            break;
        case command_effect::unwatches:
            is_watching_ = is_watching_ && is_in_transaction_;  // there it is only queued
            break;
        case command_effect::changes_session:
        case command_effect::changes_replies:
            check_for_shared(name, second);
    }
}

void batch_rules::check_complete() const {
    if (is_in_transaction_ || is_watching_) {
        throw invalid_argument(is_in_transaction_
                                   ? "redis: the batch has a MULTI without an EXEC or DISCARD"
                                   : "redis: the batch has a WATCH without an EXEC or UNWATCH");
    }
}

}  // namespace weir::redis::detail
