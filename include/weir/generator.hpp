// SPDX-License-Identifier: MIT
// generator<T>: a coroutine that yields values and may await between them.
//
//     weir::generator<page> fetch_pages(int count) {
//         for (int number = 1; number <= count; ++number) {
//             page fetched = co_await fetch(number);
//             co_yield std::move(fetched);
//         }
//     }
//
//     auto pages = fetch_pages(3);
//     while (auto page = co_await pages.next()) { use(*page); }
//
// The body runs on the task that awaits next(), as a call does, from one co_yield to the next.
//
// - Nothing runs before the first next(). After the end, every next() reports the end again. An
//   exception of the body is thrown by the next() it happened in; the next one reports the end.
// - One next() at a time: a second one meanwhile throws invalid_state, and the first is not
// disturbed.
// - If the task is stopped while the body awaits, the body's frames are destroyed and its deferred
//   clean-up (weir::defer) is awaited. A call of next() after that throws generator_stopped, since
//   the stream has not come to its end.
// - close() destroys the suspended body and awaits its deferred clean-up. weir::closing does so at
// the
//   end of a coroutine.
// - A generator that is dropped half-way is closed by its loop: the body is destroyed at once,
// deferred
//   clean-up runs as a task of its own, and its failure is reported. At the end of run, generators
//   that still exist are closed the same way, before the loop is.
// - Dropped on another thread than its loop's, it goes to the loop first: body and clean-up always
//   end on the loop's thread. No next() may be in progress then.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/cancel.hpp>
#include <weir/detail/generator_support.hpp>
#include <weir/finally.hpp>

#include <memory>
#include <optional>
#include <type_traits>

namespace weir {

template <class T>
class generator;

namespace detail {

// The result of next(): an optional, or for references a pointer.
template <class T>
struct generated {
    using item = std::optional<T>;
};
template <class T>
struct generated<T&> {
    using item = T*;
};

// The result of weir::moved().
template <class T>
struct moved_value {
    T* value;
};

// GCC 12 destroys a temporary aggregate in a co_yield expression twice (PR99576), and nothing tells
// a temporary from std::move(object): both are refused for aggregates with destructors.
#if defined(WEIR_COROUTINE_TEMPORARIES_BROKEN) && WEIR_COROUTINE_TEMPORARIES_BROKEN
template <class T>
inline constexpr bool safe_in_yield =
    !std::is_aggregate_v<T> || std::is_trivially_destructible_v<T>;
#else
template <class T>
inline constexpr bool safe_in_yield = true;
#endif

// Suspends the body at a co_yield; the value stays in the body's frame until it is fetched.
class yield_awaiter {
public:
    explicit yield_awaiter(generator_promise_base& yielding) noexcept : yielding_(yielding) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept { yielding_.suspend_at_yield(); }
    void await_resume() const noexcept {}

private:
    generator_promise_base& yielding_;
};

// For values that have to be made or copied first.
template <class T>
class making_yield_awaiter : public yield_awaiter {
public:
    template <class From>
    making_yield_awaiter(generator_promise_base& yielding, From&& from)
        : yield_awaiter(yielding), yielding_(yielding), value_(std::forward<From>(from)) {}
    void await_suspend(std::coroutine_handle<> self) noexcept {
        yielding_.yielded = std::addressof(value_);
        yield_awaiter::await_suspend(self);
    }

private:
    generator_promise_base& yielding_;
    T value_;
};

template <class T>
struct generator_promise final : generator_promise_base {
    WEIR_CHECK_ALIGNMENT(T);
    generator<T> get_return_object(place_record where = __builtin_source_location()) noexcept;

    yield_awaiter yield_value(T&& value) noexcept {
        static_assert(
            safe_in_yield<T>,
            "this compiler destroys temporary aggregates in co_yield expressions twice (GCC "
            "PR99576): name the object and write co_yield object or co_yield "
            "weir::moved(object), or give the type a constructor; see docs/compilers.md");
        yielded = std::addressof(value);
        return yield_awaiter(*this);
    }
    yield_awaiter yield_value(moved_value<T> named) noexcept {
        yielded = named.value;
        return yield_awaiter(*this);
    }
    template <class From>
        requires(std::constructible_from<T, From> && !std::same_as<From, T>)
    making_yield_awaiter<T> yield_value(From&& from) {
        return making_yield_awaiter<T>(*this, std::forward<From>(from));
    }
};

template <class T>
struct generator_promise<T&> final : generator_promise_base {
    generator<T&> get_return_object(place_record where = __builtin_source_location()) noexcept;

    yield_awaiter yield_value(T& value) noexcept {
        yielded = const_cast<std::remove_const_t<T>*>(std::addressof(value));
        return yield_awaiter(*this);
    }
};

template <class T>
class WEIR_MUST_AWAIT next_call final : public bounded<next_call<T>, next_boundary> {
    using item = typename generated<T>::item;

public:
    explicit next_call(generator_base& source) noexcept
        : bounded<next_call, next_boundary>(source) {}

    bool await_ready() noexcept { return this->is_decided(); }
    item await_resume() {
        generator_promise_base* const at_yield =
            this->check_item();  // throws what there is to throw
        if (at_yield == nullptr) {
            return item();
        }
        const release_orphan release{*at_yield};
        if constexpr (std::is_reference_v<T>) {
            return static_cast<item>(at_yield->yielded);
        } else {
            return item(std::move(*static_cast<T*>(at_yield->yielded)));
        }
    }
};

}  // namespace detail

template <class T>
class [[nodiscard("a generator does nothing until next() is awaited")]] generator
    : public detail::generator_base {
public:
    using promise_type = detail::generator_promise<T>;
    using value_type = T;

    generator() noexcept = default;  // one that has ended
    generator(generator&&) noexcept = default;
    generator& operator=(generator&&) noexcept = default;

    // co_await next(): the next value, empty at the end; for a generator<T&> a pointer, null at the
    // end.
    [[nodiscard("next() does nothing until it is awaited")]] detail::next_call<T> next() noexcept {
        return detail::next_call<T>(*this);
    }

    // co_await close(): destroys the body where it is suspended and awaits its deferred clean-up,
    // behind a shield; next() then reports the end. Nothing happens if it has ended already. Throws
    // invalid_state while a next() is in progress.
    task<void> close() { return detail::close_generator(*this); }

private:
    friend promise_type;
    explicit generator(promise_type& made) noexcept : generator_base(made) {}
};

// co_yield moved(object): as co_yield std::move(object), also where a compiler's defect forbids
// that.
template <class T>
detail::moved_value<T> moved(T& object) noexcept {
    return {std::addressof(object)};
}

namespace detail {

template <class T>
generator<T> generator_promise<T>::get_return_object(place_record where) noexcept {
    know_coroutine(*this, where);
    return generator<T>(*this);
}
template <class T>
generator<T&> generator_promise<T&>::get_return_object(place_record where) noexcept {
    know_coroutine(*this, where);
    return generator<T&>(*this);
}

template <class Resource>
concept closes = requires(Resource& resource) {
    { resource.close() } -> awaitable;
};

// Owned by the frame that registered it, and closed when that has ended.
template <class Resource>
class deferred_close final : public deferred {
public:
    explicit deferred_close(Resource&& owned) : owned_(std::move(owned)) {}
    Resource& owned() noexcept { return owned_; }
    task<void> invoke() override { return close_owned(std::move(owned_)); }
    bool drop() noexcept override {
        if constexpr (requires { owned_.drop(); }) {
            return owned_.drop();
        } else {
            return false;
        }
    }

private:
    static task<void> close_owned(Resource owned) { co_await owned.close(); }
    Resource owned_;
};

template <class Resource>
class WEIR_MUST_AWAIT closing_awaiter final : public defer_awaiter {
public:
    explicit closing_awaiter(deferred_close<Resource>* made) noexcept
        : defer_awaiter(made), owned_(made->owned()) {}
    Resource& await_resume() const noexcept { return owned_; }

private:
    Resource& owned_;
};

}  // namespace detail

// auto& pages = co_await closing(fetch_pages(3)): a generator, or anything else with a close() to
// be awaited, that is closed when this coroutine ends, however it does: return, exception or stop.
template <class Resource>
    requires detail::closes<std::remove_cvref_t<Resource>>
detail::closing_awaiter<std::remove_cvref_t<Resource>> closing(Resource&& resource) {
    static_assert(!std::is_lvalue_reference_v<Resource>,
                  "closing takes the resource over: write closing(std::move(resource))");
    using owned = std::remove_cvref_t<Resource>;
    return detail::closing_awaiter<owned>(new detail::deferred_close<owned>(std::move(resource)));
}

}  // namespace weir
