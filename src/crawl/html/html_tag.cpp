// SPDX-License-Identifier: MIT
// The name, the names of attributes and their values stand one after another in one string, which
// the next tag uses again: tags allocate nothing once it has grown.

#include "crawl/html/html_tag.hpp"

#include "base/utf8.hpp"
#include "crawl/html/html_letters.hpp"

#include <algorithm>
#include <array>

namespace weir::crawl::detail {
namespace {

// Bits for what ends the name of a tag, the name of an attribute, and an unquoted value.
constexpr unsigned char ends_tag_name = 1;
constexpr unsigned char ends_attribute_name = 2;
constexpr unsigned char ends_unquoted = 4;
// Letters that the name of an attribute does not keep.
constexpr unsigned char is_upper = 8;

constexpr std::array<unsigned char, 256> ending_bits = [] {
    std::array<unsigned char, 256> bits{};
    for (const char each : {' ', '\n', '\t', '\r', '\f', '>'}) {
        bits[static_cast<unsigned char>(each)] =
            ends_tag_name | ends_attribute_name | ends_unquoted;
    }
    bits['/'] = ends_tag_name | ends_attribute_name;
    bits['\0'] = ends_tag_name | ends_attribute_name;
    bits['='] = ends_attribute_name;
    for (unsigned char each = 'A'; each <= 'Z'; ++each) {
        bits[each] = is_upper;
    }
    return bits;
}();

const char* find_ending(const char* at, const char* end, unsigned char bit) noexcept {
    while (at != end && (ending_bits[static_cast<unsigned char>(*at)] & bit) == 0) {
        ++at;
    }
    return at;
}

}  // namespace

void html_tag::begin() noexcept {
    used_ = 0;
    slots_.clear();
    name_size_ = 0;
    name_ = {};
    is_self_closing_ = false;
    keeps_attributes_ = true;
    is_dropping_ = false;
}

void html_tag::set_name(std::string_view name) {
    used_ = 0;
    append(name);
    name_size_ = used_;
    name_ = {text_.data(), name_size_};
}

const char* html_tag::take_name(const char* at, const char* end) {
    at = append_lower(at, end, ends_tag_name, 0);
    name_size_ = used_;
    name_ = {text_.data(), name_size_};
    return at;
}

void html_tag::begin_attribute(std::uint64_t offset) {
    is_dropping_ = !keeps_attributes_ || slots_.size() >= max_attributes || used_ >= max_text;
    if (!is_dropping_) {
        slot& added = slots_.emplace_back();
        added.name = added.value = static_cast<std::uint32_t>(used_);
        added.offset = offset;
    }
}

const char* html_tag::take_first_letter(const char* at) {
    if (*at != '=') {
        return at;
    }
    if (!is_dropping_) {
        append("=");
        slots_.back().name_size = 1;
    }
    return at + 1;
}

const char* html_tag::take_attribute_name(const char* at, const char* end) {
    if (is_dropping_) {
        at = find_ending(at, end, ends_attribute_name);
        while (at != end && *at == '\0') {
            at = find_ending(at + 1, end, ends_attribute_name);
        }
        return at;
    }
    slot& last = slots_.back();
    at = append_lower(at, end, ends_attribute_name, last.name);
    last.value = static_cast<std::uint32_t>(used_);
    last.name_size = last.value - last.name;
    return at;
}

void html_tag::begin_value(std::uint64_t offset) {
    if (!is_dropping_) {
        slots_.back().offset = offset;
        slots_.back().position = {};
    }
}

void html_tag::append_value(std::string_view piece) {
    if (is_dropping_) {
        return;
    }
    slot& last = slots_.back();
    const std::size_t room = max_value - last.value_size;
    last.is_cut = last.is_cut || piece.size() > room;
    append(piece.substr(0, room));
    last.value_size = static_cast<std::uint32_t>(used_) - last.value;
}

const char* html_tag::take_unquoted(const char* at, const char* end) {
    const char* const found = find_ending(at, end, ends_unquoted);
    append_value({at, static_cast<std::size_t>(found - at)});
    return found;
}

void html_tag::seal() noexcept {
    base_ = text_.data();
    name_ = {text_.data(), name_size_};
}

const char* html_tag::take_short_name(const char* at, const char* end) noexcept {
    std::size_t size = 0;
    for (;;) {
        if (at == end || size == short_name_.size()) {
            return nullptr;
        }
        if ((ending_bits[static_cast<unsigned char>(*at)] & ends_tag_name) != 0) {
            break;
        }
        short_name_[size++] = html_lower(*at++);
    }
    name_ = {short_name_.data(), size};
    return *at == '\0' ? nullptr : at;
}

const char* html_tag::take_whole(const char* at, const char* end, std::uint64_t offset) {
    base_ = at;
    const auto place = [&] { return static_cast<std::uint32_t>(at - base_); };
    for (;;) {
        while (at != end && is_html_blank(*at)) {
            ++at;
        }
        if (at == end) {
            return nullptr;
        }
        if (*at == '>') {
            return at + 1;
        }
        if (*at == '/') {
            ++at;
            is_self_closing_ = at != end && *at == '>';
            continue;
        }
        slot read;
        read.name = place();
        at += *at == '=' ? 1 : 0;
        while (at != end && (ending_bits[static_cast<unsigned char>(*at)] &
                             (ends_attribute_name | is_upper)) == 0) {
            ++at;
        }
        read.name_size = place() - read.name;
        read.offset = offset + read.name;
        while (at != end && is_html_blank(*at)) {
            ++at;
        }
        if (at == end || *at == '\0' ||
            (ending_bits[static_cast<unsigned char>(*at)] & is_upper &&
             place() == read.name + read.name_size)) {
            return nullptr;
        }
        if (*at == '=') {
            do {
                ++at;
            } while (at != end && is_html_blank(*at));
            if (at == end) {
                return nullptr;
            }
            const bool is_quoted = *at == '"' || *at == '\'';
            const char* const from = is_quoted ? at + 1 : at;
            const char* const to =
                is_quoted ? find_letter(from, end, *at) : find_ending(from, end, ends_unquoted);
            if (to == end || to - from > static_cast<std::ptrdiff_t>(max_value)) {
                return nullptr;
            }
            at = from;
            read.value = place();
            read.offset = offset + place();
            read.value_size = static_cast<std::uint32_t>(to - from);
            at = is_quoted ? to + 1 : to;
        }
        if (keeps_attributes_) {
            if (slots_.size() >= max_attributes || place() >= max_text) {
                return nullptr;
            }
            slots_.push_back(read);
        }
    }
}

// Appends a name that began at `begin`, in lower case, with U+FFFD for NUL, up to what ends it.
const char* html_tag::append_lower(const char* at, const char* end, unsigned char ending,
                                   std::size_t begin) {
    for (;;) {
        const std::size_t room = max_name - std::min(max_name, used_ - begin);
        const char* const kept = at + std::min(room, static_cast<std::size_t>(end - at));
        make_room(static_cast<std::size_t>(kept - at));
        char* to = text_.data() + used_;
        while (at != kept && (ending_bits[static_cast<unsigned char>(*at)] & ending) == 0) {
            *to++ = html_lower(*at++);
        }
        used_ = static_cast<std::size_t>(to - text_.data());
        at = find_ending(at, end, ending);  // what is too long is passed over
        if (at == end || *at != '\0') {
            return at;
        }
        if (room > 0) {
            append(base::replacement_character);
        }
        ++at;
    }
}

void html_tag::make_room(std::size_t size) {
    if (text_.size() - used_ < size) {
        text_.resize(std::max(2 * text_.size(), used_ + size));
    }
}

void html_tag::append(std::string_view piece) {
    make_room(piece.size());
    std::copy(piece.begin(), piece.end(), text_.data() + used_);
    used_ += piece.size();
}

}  // namespace weir::crawl::detail
