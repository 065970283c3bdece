// SPDX-License-Identifier: MIT
// Which commands of Redis change the connection that they are sent on.
#pragma once

#include <concepts>
#include <string_view>

namespace weir::redis::detail {

enum class command_effect : unsigned char {
    none,
    begins_transaction,  // MULTI
    ends_transaction,    // EXEC, DISCARD
    watches,             // WATCH
    unwatches,           // UNWATCH
    changes_session,     // SELECT, AUTH, RESET, CLIENT TRACKING and similar
    changes_replies,     // SUBSCRIBE, MONITOR, CLIENT REPLY: not answered exactly once, in RESP2
};
// By the first two words; Redis ignores their case.
command_effect effect_of(std::string_view name, std::string_view second = {}) noexcept;
// Whether Redis may answer it much later: BLPOP, WAIT, XREAD (which may have BLOCK).
bool may_block(std::string_view name) noexcept;

// Throws invalid_argument for a command that has an effect on a connection that tasks share.
void check_for_shared(std::string_view name, std::string_view second = {});
// Throws invalid_argument for a command that is not answered exactly once.
void check_for_dedicated(std::string_view name, std::string_view second = {});

// The commands of a batch: what they change, they must change back.
class batch_rules {
public:
    // Throws invalid_argument for a command that a batch cannot contain.
    void add(std::string_view name, std::string_view second = {});
    // Throws invalid_argument if a MULTI or WATCH has no end.
    void check_complete() const;

private:
    bool is_in_transaction_ = false;
    bool is_watching_ = false;
};

template <class Word>
std::string_view text_of(const Word& word) noexcept {
    if constexpr (std::convertible_to<const Word&, std::string_view>) {
        return word;
    } else {
        return {};
    }
}
// Calls check with the first two words, as far as they are texts.
template <class Check, class Name>
void check_words(Check&& check, const Name& name) {
    check(text_of(name), std::string_view());
}
template <class Check, class Name, class Second, class... Others>
void check_words(Check&& check, const Name& name, const Second& second, const Others&...) {
    check(text_of(name), text_of(second));
}

}  // namespace weir::redis::detail
