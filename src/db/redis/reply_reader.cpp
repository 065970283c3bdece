// SPDX-License-Identifier: MIT
// The parser calls us to create each object, and names the list that it belongs to: the object is
// put there at once. A list does not grow while one of its elements is being filled, so the
// parser's pointers stay valid. Memory is not reserved for the size that a list announces: it grows
// with what arrives.

#include "db/redis/reply_reader.hpp"

#include <weir/db/redis/error.hpp>

#include <hiredis/read.h>

#include <cstring>
#include <new>

namespace weir::redis::detail {

struct reply_reader::state {
    state(std::size_t bytes, std::size_t elements) : max_bytes(bytes), max_elements(elements) {
        reader = redisReaderCreateWithFunctions(&functions);
        if (reader == nullptr) {
            throw std::bad_alloc();
        }
        reader->privdata = this;
    }
    ~state() { redisReaderFree(reader); }

    // The object in its place; null if there are too many.
    static value* place_for(const redisReadTask* task, value parsed) noexcept {
        auto& own = *static_cast<state*>(task->privdata);
        if (++own.elements > own.max_elements) {
            return nullptr;
        }
        try {
            if (task->parent == nullptr) {
                return new value(std::move(parsed));
            }
            auto& parent = *static_cast<value*>(task->parent->obj);
            value::list& list = parent.elements();
            list.push_back(std::move(parsed));
            return &list.back();
        } catch (...) {
            return nullptr;
        }
    }
    static void* make_text(const redisReadTask* task, char* text, std::size_t size) noexcept {
        auto& own = *static_cast<state*>(task->privdata);
        own.bytes += size;
        if (own.bytes > own.max_bytes) {
            return nullptr;
        }
        try {
            std::string copy(text, size);
            return place_for(task, task->type == REDIS_REPLY_ERROR
                                       ? value(value::complaint{std::move(copy)})
                                       : value(std::move(copy)));
        } catch (...) {
            return nullptr;
        }
    }
    static void* make_list(const redisReadTask* task, int size) noexcept {
        auto& own = *static_cast<state*>(task->privdata);
        if (size < 0 || static_cast<std::size_t>(size) > own.max_elements) {
            return nullptr;
        }
        try {
            value::list elements;
            constexpr int reserved_at_most = 1 << 10;
            elements.reserve(
                static_cast<std::size_t>(size < reserved_at_most ? size : reserved_at_most));
            return place_for(task, value(std::move(elements)));
        } catch (...) {
            return nullptr;
        }
    }
    static void* make_number(const redisReadTask* task, long long number) noexcept {
        return place_for(task, value(std::int64_t{number}));
    }
    static void* make_nil(const redisReadTask* task) noexcept { return place_for(task, value()); }
    static void free_root(void* object) noexcept { delete static_cast<value*>(object); }

    static redisReplyObjectFunctions functions;

    redisReader* reader = nullptr;
    std::size_t max_bytes;
    std::size_t max_elements;
    // Of the reply that is being parsed.
    std::size_t elements = 0;
    std::size_t bytes = 0;
    std::size_t fed = 0;
};

redisReplyObjectFunctions reply_reader::state::functions = {
    &state::make_text, &state::make_list, &state::make_number, &state::make_nil, &state::free_root};

reply_reader::reply_reader(std::size_t max_bytes, std::size_t max_elements)
    : state_(std::make_unique<state>(max_bytes, max_elements)) {}
reply_reader::~reply_reader() = default;

void reply_reader::reset() {
    state_ = std::make_unique<state>(state_->max_bytes, state_->max_elements);
}

void reply_reader::feed(std::string_view received) {
    state_->fed += received.size();
    if (redisReaderFeed(state_->reader, received.data(), received.size()) != REDIS_OK) {
        throw connection_error(std::string("redis: ") + state_->reader->errstr,
                               db::retry_advice::if_harmless);
    }
}

std::optional<value> reply_reader::next() {
    void* whole = nullptr;
    if (redisReaderGetReply(state_->reader, &whole) != REDIS_OK) {
        throw connection_error(
            std::string("redis: the reply is invalid or too large: ") + state_->reader->errstr,
            db::retry_advice::if_harmless);
    }
    if (whole == nullptr) {
        if (state_->fed > state_->max_bytes) {
            throw connection_error("redis: the reply is larger than max_reply_bytes, " +
                                       std::to_string(state_->max_bytes),
                                   db::retry_advice::if_harmless);
        }
        return std::nullopt;
    }
    const std::unique_ptr<value> reply(static_cast<value*>(whole));
    state_->elements = 0;
    state_->bytes = 0;
    state_->fed = 0;
    return std::move(*reply);
}

}  // namespace weir::redis::detail
