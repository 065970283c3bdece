// SPDX-License-Identifier: MIT
// How a coroutine ended: a value or an error, in one storage.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace weir::detail {

template <class T>
class result {
    static_assert(std::is_object_v<T>);

public:
    result() noexcept {}
    result(const result&) = delete;
    result& operator=(const result&) = delete;
    ~result() { clear(); }

    template <class... Args>
    void set_value(Args&&... args) {
        clear();
        ::new (static_cast<void*>(&value_)) T(std::forward<Args>(args)...);
        state_ = state::value;
    }
    // The same for one that is empty.
    template <class... Args>
    void init_value(Args&&... args) {
        ::new (static_cast<void*>(&value_)) T(std::forward<Args>(args)...);
        state_ = state::value;
    }
    void set_error(std::exception_ptr error) noexcept {
        clear();
        ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(error));
        state_ = state::error;
    }

    bool has_value() const noexcept { return state_ == state::value; }
    bool has_error() const noexcept { return state_ == state::error; }
    T& value() noexcept { return value_; }
    std::exception_ptr error() const noexcept { return has_error() ? error_ : nullptr; }
    T take() {
        if (has_error()) [[unlikely]] {
            std::rethrow_exception(error_);
        }
        return std::move(value_);
    }

private:
    enum class state : unsigned char { empty, value, error };

    void clear() noexcept {
        if (state_ == state::value) {
            value_.~T();
        } else if (state_ == state::error) {
            error_.~exception_ptr();
        }
        state_ = state::empty;
    }

    union {
        T value_;
        std::exception_ptr error_;
    };
    state state_ = state::empty;
};

template <>
class result<void> {
public:
    void set_value() noexcept { error_ = nullptr; }
    void set_error(std::exception_ptr error) noexcept { error_ = std::move(error); }
    bool has_value() const noexcept { return error_ == nullptr; }
    bool has_error() const noexcept { return error_ != nullptr; }
    std::exception_ptr error() const noexcept { return error_; }
    void take() {
        if (error_ != nullptr) [[unlikely]] {
            std::rethrow_exception(error_);
        }
    }

private:
    std::exception_ptr error_;
};

template <class T>
class result<T&> {
public:
    void set_value(T& value) noexcept { inner_.set_value(&value); }
    void set_error(std::exception_ptr error) noexcept { inner_.set_error(std::move(error)); }
    bool has_value() const noexcept { return inner_.has_value(); }
    bool has_error() const noexcept { return inner_.has_error(); }
    T& value() noexcept { return *inner_.value(); }
    std::exception_ptr error() const noexcept { return inner_.error(); }
    T& take() { return *inner_.take(); }

private:
    result<T*> inner_;
};

}  // namespace weir::detail
