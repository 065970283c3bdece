// SPDX-License-Identifier: MIT
// Memory to read into and to write from: a pointer and a size, made from any container of bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

// On a parameter that the result refers to: clang warns where the result outlives a temporary.
#if defined(__clang__)
#define WEIR_REFERRED_TO [[clang::lifetimebound]]
#else
#define WEIR_REFERRED_TO
#endif

namespace weir::io {

namespace detail {

template <class T>
concept byte_like =
    std::same_as<std::remove_cv_t<T>, std::byte> || std::same_as<std::remove_cv_t<T>, char> ||
    std::same_as<std::remove_cv_t<T>, unsigned char>;

template <class Range>
concept byte_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                     byte_like<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

// Does it own what it holds, so that a temporary one takes it along?
template <class Range>
concept owning_range = std::ranges::range<const Range&> && !std::ranges::borrowed_range<Range>;

template <class Range>
concept writable_byte_range =
    byte_range<Range> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

}  // namespace detail

// Writable bytes: a std::string, std::vector<char>, std::array<std::byte, N>, char[N] or a span of
// such. Refers to them and never changes their number.
class bytes {
public:
    constexpr bytes() noexcept = default;
    constexpr bytes(std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Range>
        requires(detail::writable_byte_range<Range&> &&
                 !std::same_as<std::remove_cv_t<Range>, bytes>)
    bytes(Range& range) noexcept
        : data_(reinterpret_cast<std::byte*>(std::ranges::data(range))),
          size_(std::ranges::size(range)) {}
    template <detail::byte_like T, std::size_t Extent>
        requires(!std::is_const_v<T>)
    bytes(std::span<T, Extent> span) noexcept
        : data_(reinterpret_cast<std::byte*>(span.data())), size_(span.size()) {}

    constexpr std::byte* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr std::byte* begin() const noexcept { return data_; }
    constexpr std::byte* end() const noexcept { return data_ + size_; }
    // The bytes after the first `count`, and the first `count`; count is at most size().
    constexpr bytes after(std::size_t count) const noexcept {
        return {data_ + count, size_ - count};
    }
    constexpr bytes first(std::size_t count) const noexcept { return {data_, count}; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// Readable bytes: the same, and also text. A string literal is text, without its final zero.
class const_bytes {
public:
    constexpr const_bytes() noexcept = default;
    constexpr const_bytes(const std::byte* data, std::size_t size) noexcept
        : data_(data), size_(size) {}
    constexpr const_bytes(bytes writable) noexcept
        : data_(writable.data()), size_(writable.size()) {}
    template <std::convertible_to<std::string_view> Text>
        requires(!detail::owning_range<Text>)
    const_bytes(const Text& text) noexcept : const_bytes(std::string_view(text), view_tag()) {}
    template <std::convertible_to<std::string_view> Text>
        requires detail::owning_range<Text>
    const_bytes(const Text& text WEIR_REFERRED_TO) noexcept
        : const_bytes(std::string_view(text), view_tag()) {}
    template <class Range>
        requires(detail::byte_range<const Range&> &&
                 !std::convertible_to<const Range&, std::string_view> &&
                 !std::same_as<Range, bytes> && !std::same_as<Range, const_bytes> &&
                 !detail::owning_range<Range>)
    const_bytes(const Range& range) noexcept
        : data_(reinterpret_cast<const std::byte*>(std::ranges::data(range))),
          size_(std::ranges::size(range)) {}
    template <class Range>
        requires(detail::byte_range<const Range&> &&
                 !std::convertible_to<const Range&, std::string_view> &&
                 !std::same_as<Range, bytes> && !std::same_as<Range, const_bytes> &&
                 detail::owning_range<Range>)
    const_bytes(const Range& range WEIR_REFERRED_TO) noexcept
        : data_(reinterpret_cast<const std::byte*>(std::ranges::data(range))),
          size_(std::ranges::size(range)) {}

    constexpr const std::byte* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr const std::byte* begin() const noexcept { return data_; }
    constexpr const std::byte* end() const noexcept { return data_ + size_; }
    constexpr const_bytes after(std::size_t count) const noexcept {
        return {data_ + count, size_ - count};
    }
    constexpr const_bytes first(std::size_t count) const noexcept { return {data_, count}; }
    std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

private:
    struct view_tag {};
    const_bytes(std::string_view view, view_tag) noexcept
        : data_(reinterpret_cast<const std::byte*>(view.data())), size_(view.size()) {}

    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace weir::io
