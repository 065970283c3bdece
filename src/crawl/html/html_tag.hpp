// SPDX-License-Identifier: MIT
// A start or end tag with its attributes, as the tokenizer collects it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

// From 1; the column counts characters of UTF-8. 0: unknown.
struct text_position {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

struct html_attribute {
    std::string_view name;       // lower case
    std::string_view raw_value;  // character references are not decoded
    bool is_cut = false;         // the value is longer than html_tag::max_value
    std::size_t index = 0;
};

// Views are valid until the tokenizer goes on.
class html_tag {
public:
    // What a page can make the tokenizer keep. Attributes beyond the last two are dropped.
    static constexpr std::size_t max_name = 1024;
    static constexpr std::size_t max_value = 65'536;
    static constexpr std::size_t max_text = std::size_t{1} << 20;
    static constexpr std::size_t max_attributes = 4096;

    std::string_view name() const noexcept { return name_; }
    bool is_self_closing() const noexcept { return is_self_closing_; }
    std::size_t size() const noexcept { return slots_.size(); }
    html_attribute operator[](std::size_t index) const noexcept {
        const slot& at = slots_[index];
        return {
            {base_ + at.name, at.name_size}, {base_ + at.value, at.value_size}, at.is_cut, index};
    }
    // The first attribute of that name: of several only the first counts.
    std::optional<html_attribute> find(std::string_view name) const noexcept {
        for (std::size_t index = 0; index < slots_.size(); ++index) {
            const html_attribute each = (*this)[index];
            if (each.name == name) {
                return each;
            }
        }
        return std::nullopt;
    }

    // The rest is for the tokenizer, which collects a tag as it arrives. The functions that take
    // letters give the place of the first letter that they did not take, or `end`.
    struct slot {
        std::uint32_t name = 0;  // from base_
        std::uint32_t name_size = 0;
        std::uint32_t value = 0;
        std::uint32_t value_size = 0;
        std::uint64_t offset = 0;  // of the value in the page
        text_position position;    // of the value, once it is known
        bool is_cut = false;
    };
    void begin() noexcept;
    void set_name(std::string_view name);
    const char* take_name(const char* at, const char* end);
    // Attributes are kept or passed over.
    void keep_attributes(bool keeps) noexcept { keeps_attributes_ = keeps; }
    void begin_attribute(std::uint64_t offset);
    // A name may begin with '=', which ends it anywhere else.
    const char* take_first_letter(const char* at);
    const char* take_attribute_name(const char* at, const char* end);
    void begin_value(std::uint64_t offset);
    void append_value(std::string_view piece);
    const char* take_unquoted(const char* at, const char* end);
    // The tag is complete.
    void seal() noexcept;

    // The short way, for a tag that is there up to its ">": nothing is copied but the name. Null if
    // the tag has to go the other way: it is incomplete, or has something unusual in it.
    const char* take_short_name(const char* at, const char* end) noexcept;
    const char* take_whole(const char* at, const char* end, std::uint64_t offset);

    void set_self_closing() noexcept { is_self_closing_ = true; }
    const slot& slot_at(std::size_t index) const noexcept { return slots_[index]; }
    void set_position(std::size_t index, text_position position) noexcept {
        slots_[index].position = position;
    }

private:
    const char* append_lower(const char* at, const char* end, unsigned char ending,
                             std::size_t begin);
    void make_room(std::size_t size);
    void append(std::string_view piece);

    const char* base_ = nullptr;  // what slots refer to: text_, or the page
    std::string_view name_;
    std::vector<slot> slots_;
    std::string text_;  // of which used_ bytes count; the rest is room
    std::size_t used_ = 0;
    std::size_t name_size_ = 0;
    bool is_self_closing_ = false;
    bool keeps_attributes_ = true;
    bool is_dropping_ = false;  // the current attribute is not kept
    std::array<char, 24> short_name_;
};

}  // namespace weir::crawl::detail
