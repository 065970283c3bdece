// SPDX-License-Identifier: MIT
// A stream whose kind is decided at run time: plain or TLS, real or simulated.
//
//     weir::io::any_stream peer = is_secure ? any_stream(std::move(encrypted))
//                                           : any_stream(std::move(plain));
//
// Owns a stream and is one. Each operation costs one more virtual call and one more task frame from
// the pool than on the stream itself. It may be moved while an operation is in flight: the stream
// stays where it is.
#pragma once

#include <weir/io/byte_stream.hpp>
#include <weir/io/read.hpp>
#include <weir/io/result.hpp>
#include <weir/task.hpp>

#include <memory>
#include <utility>

namespace weir::io {

namespace detail {

[[noreturn]] void throw_no_stream(const char* call);

struct held_stream {
    virtual ~held_stream() = default;
    virtual task<std::size_t> read(bytes into) = 0;
    virtual task<std::size_t> read(std::span<const bytes> parts) = 0;
    virtual task<void> write(const_bytes data WEIR_REFERRED_TO) = 0;
    virtual task<void> write(std::span<const const_bytes> parts) = 0;
    virtual task<result<std::size_t>> read(bytes into, as_result_form form) = 0;
    virtual task<result<>> write(const_bytes data WEIR_REFERRED_TO, as_result_form form) = 0;
    virtual task<result<>> write(std::span<const const_bytes> parts, as_result_form form) = 0;
    virtual task<void> close_write() = 0;
    virtual void close() noexcept = 0;
    virtual closure peer_closure() noexcept = 0;
    virtual task<void> until_peer_closes() = 0;
};

task<void> never();  // waits for a stop

template <class Stream>
struct held_stream_of final : held_stream {
    explicit held_stream_of(Stream&& given) : stream(std::move(given)) {}
    task<std::size_t> read(bytes into) override { return weir::detail::to_task(stream.read(into)); }
    task<std::size_t> read(std::span<const bytes> parts) override {
        return read_parts(stream, parts);
    }
    task<result<std::size_t>> read(bytes into, as_result_form form) override {
        if constexpr (requires { stream.read(into, form); }) {
            return weir::detail::to_task(stream.read(into, form));
        } else {
            return caught(read(into), "read");
        }
    }
    task<result<>> write(const_bytes data WEIR_REFERRED_TO, as_result_form form) override {
        if constexpr (requires { stream.write(data, form); }) {
            return weir::detail::to_task(stream.write(data, form));
        } else {
            return caught(write(data), "write");
        }
    }
    task<result<>> write(std::span<const const_bytes> parts, as_result_form form) override {
        if constexpr (requires { stream.write(parts, form); }) {
            return weir::detail::to_task(stream.write(parts, form));
        } else {
            return caught(write(parts), "write");
        }
    }
    task<void> write(const_bytes data WEIR_REFERRED_TO) override {
        return weir::detail::to_task(stream.write(data));
    }
    task<void> write(std::span<const const_bytes> parts) override {
        return weir::detail::to_task(stream.write(parts));
    }
    task<void> close_write() override { return weir::detail::to_task(stream.close_write()); }
    void close() noexcept override { stream.close(); }
    closure peer_closure() noexcept override {
        if constexpr (reports_closure<Stream>) {
            return stream.peer_closure();
        } else {
            return closure::none;
        }
    }
    task<void> until_peer_closes() override {
        if constexpr (reports_closure<Stream>) {
            return weir::detail::to_task(stream.until_peer_closes());
        } else {
            return never();
        }
    }

    Stream stream;
};

}  // namespace detail

class any_stream {
public:
    // Holds nothing: close() does nothing, everything else throws invalid_state.
    any_stream() noexcept = default;
    template <byte_stream Stream>
        requires(!std::same_as<Stream, any_stream> && std::move_constructible<Stream>)
    explicit any_stream(Stream stream)
        : held_(std::make_unique<detail::held_stream_of<Stream>>(std::move(stream))) {}

    task<std::size_t> read(bytes into) { return held("read").read(into); }
    // Into several buffers; a stream without such a read fills the first.
    task<std::size_t> read(std::span<const bytes> parts) { return held("read").read(parts); }
    task<void> write(const_bytes data WEIR_REFERRED_TO) { return held("write").write(data); }
    task<void> write(std::span<const const_bytes> parts) { return held("write").write(parts); }
    // The same with errors as values: weir/io/result.hpp.
    task<result<std::size_t>> read(bytes into, as_result_form form) {
        return held("read").read(into, form);
    }
    task<result<>> write(const_bytes data WEIR_REFERRED_TO, as_result_form form) {
        return held("write").write(data, form);
    }
    task<result<>> write(std::span<const const_bytes> parts, as_result_form form) {
        return held("write").write(parts, form);
    }
    task<void> close_write() { return held("close_write").close_write(); }
    void close() noexcept {
        if (held_ != nullptr) {
            held_->close();
        }
    }

    // For a stream that does not report it: none, and a wait without end.
    closure peer_closure() noexcept {
        return held_ != nullptr ? held_->peer_closure() : closure::both;
    }
    task<void> until_peer_closes() { return held("until_peer_closes").until_peer_closes(); }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    // The stream that it holds; null if that is of another type.
    template <byte_stream Stream>
    Stream* target() noexcept {
        auto* const held = dynamic_cast<detail::held_stream_of<Stream>*>(held_.get());
        return held != nullptr ? &held->stream : nullptr;
    }

private:
    detail::held_stream& held(const char* call) {
        if (held_ == nullptr) {
            detail::throw_no_stream(call);
        }
        return *held_;
    }

    std::unique_ptr<detail::held_stream> held_;
};

}  // namespace weir::io
