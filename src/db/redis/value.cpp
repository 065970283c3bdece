// SPDX-License-Identifier: MIT
// The messages name the type that was found and the one that was expected.

#include <weir/db/redis/value.hpp>

#include <charconv>

namespace weir::redis {

void value::throw_unfit(const char* wanted) const {
    constexpr const char* kinds[] = {"nil", "a number", "a text", "a list", "an error"};
    throw db::mapping_error(std::string("redis: the reply is ") + kinds[held_.index()] +
                            (is_error() ? " (" + std::get<complaint>(held_).words + ")" : "") +
                            " and cannot be read as " + wanted);
}

std::int64_t value::number() const {
    if (const auto* const held = std::get_if<std::int64_t>(&held_)) {
        return *held;
    }
    if (const auto* const digits = std::get_if<std::string>(&held_)) {
        std::int64_t read = 0;
        const char* const end = digits->data() + digits->size();
        const auto [at, error] = std::from_chars(digits->data(), end, read);
        if (error == std::errc{} && at == end) {
            return read;
        }
    }
    throw_unfit("a number");
}

const std::string& value::text() const& {
    if (const auto* const held = std::get_if<std::string>(&held_)) {
        return *held;
    }
    throw_unfit("a text");
}

std::string value::text() && {
    if (auto* const held = std::get_if<std::string>(&held_)) {
        return std::move(*held);
    }
    throw_unfit("a text");
}

const value::list& value::elements() const {
    if (const auto* const held = std::get_if<list>(&held_)) {
        return *held;
    }
    throw_unfit("a list");
}

value::list& value::elements() {
    if (auto* const held = std::get_if<list>(&held_)) {
        return *held;
    }
    throw_unfit("a list");
}

const std::string& value::error() const {
    if (const auto* const held = std::get_if<complaint>(&held_)) {
        return held->words;
    }
    throw_unfit("an error");
}

const value& value::operator[](std::size_t index) const {
    const list& all = elements();
    if (index >= all.size()) {
        throw db::mapping_error("redis: element " + std::to_string(index) +
                                " does not exist: the list has " + std::to_string(all.size()));
    }
    return all[index];
}

}  // namespace weir::redis
