// SPDX-License-Identifier: MIT
// The constructs of the language, each with awaits of Inner inside. Safe forms only: what compilers
// break is in traps/.
#pragma once

#include "compilers/constructs.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace constructs {

using weir::task;

inline int add(const passed& left, int middle, const passed& right) {
    return left.value() + middle + right.value();
}

template <class Inner>
struct nested_blocks {
    static task<int> run() {
        const local outer;
        int sum = 0;
        {
            const local first;
            sum += co_await Inner::run();
            {
                const local second;
                sum += co_await Inner::run();
            }
            const local third;
        }
        const local last;
        sum += co_await Inner::run();
        co_return sum;
    }
};

template <class Inner>
struct for_loop {
    static task<int> run() {
        int sum = 0;
        for (local counter(3); sum < counter.value();) {
            const local here;
            sum += co_await Inner::run();
            const local after;
        }
        co_return sum;
    }
};

template <class Inner>
struct while_loop {
    static task<int> run() {
        int sum = 0;
        bool goes_on = true;
        while (goes_on) {
            const local here;
            const int got = co_await Inner::run();
            sum += got;
            goes_on = sum < 2;
        }
        co_return sum;
    }
};

template <class Inner>
struct while_declares {
    static task<int> run() {
        int left = 2;
        while (const int got = co_await Inner::run()) {
            const local here(got);
            if (--left == 0) {
                break;
            }
            continue;
        }
        co_return left;
    }
};

template <class Inner>
struct do_loop {
    static task<int> run() {
        const local outer;
        int sum = 0;
        do {
            const local here;
            sum += co_await Inner::run();
        } while (sum < 2);
        co_return sum;
    }
};

// A range that is a temporary and owns something.
struct owning_range {
    passed owned;
    std::array<int, 2> values{1, 2};
    explicit owning_range(int value) : owned(value) {}
    auto begin() const { return values.begin(); }
    auto end() const { return values.end(); }
};

template <class Inner>
struct range_for {
    static task<int> run() {
        int sum = 0;
        for (const int each : owning_range(1)) {
            const local here(each);
            sum += co_await Inner::run();
        }
        co_return sum;
    }
};

template <class Inner>
struct try_block {
    static task<int> run() {
        const local outer;
        int sum = 0;
        try {
            const local inside;
            sum += co_await Inner::run();
            const local after;
        } catch (const std::exception&) {
            sum = -100;
        }
        sum += co_await Inner::run();
        co_return sum;
    }
};

template <class Inner>
struct try_rethrows {
    static task<int> run() {
        const local outer;
        try {
            try {
                const local inside;
                co_await Inner::run();
                throw 7;
            } catch (int) {
                const local in_handler;
            }
            const local between;
            co_await Inner::run();
        } catch (const planned_error&) {
            const local in_handler;
            throw;
        }
        co_return 1;
    }
};

// An await cannot be in a handler: the usual way around.
template <class Inner>
struct after_handler {
    static task<int> run() {
        bool failed = false;
        try {
            const local inside;
            throw 7;
        } catch (int) {
            failed = true;
        }
        if (failed) {
            const local here;
            co_await Inner::run();
        }
        co_return 1;
    }
};

template <class Inner>
struct function_arguments {
    static task<int> run() {
        const local outer;
        const int sum = add(passed(1), co_await Inner::run(), passed(2));
        co_return sum;
    }
};

template <class Inner>
struct two_awaits_in_a_call {
    static int join(int left, const passed& between, int right) {
        return left + between.value() + right;
    }
    static task<int> run() {
        const int sum = join(co_await Inner::run(), passed(1), co_await Inner::run());
        co_return sum;
    }
};

template <class Inner>
struct switch_case {
    static task<int> run() {
        int sum = 0;
        for (int index = 0; index < 3; ++index) {
            const local outer;
            switch (index) {
                case 0: {
                    const local here;
                    sum += co_await Inner::run();
                    break;
                }
                case 1:
                    sum += co_await Inner::run();
                    [[fallthrough]];
                default: {
                    const local here;
                    sum += co_await Inner::run();
                }
            }
        }
        co_return sum;
    }
};

template <class Inner>
struct if_with_initialiser {
    static task<int> run() {
        if (const local guard(1); guard.value() == 1) {
            const local here;
            co_await Inner::run();
        } else {
            co_await Inner::run();
        }
        if (const int got = co_await Inner::run(); got > 0) {
            const local here(got);
        }
        co_return 1;
    }
};

template <class Inner>
struct lambda_by_reference {
    static task<int> run() {
        const local outer(2);
        auto body = [&outer]() -> task<int> {
            const local here;
            const int got = co_await Inner::run();
            co_return outer.value() + got;
        };
        const int sum = co_await body();
        co_return sum;
    }
};

template <class Inner>
struct lambda_that_owns {
    static task<int> run() {
        const passed owned(2);
        const auto body = [owned](const passed& argument) -> task<int> {
            const local here;
            const int got = co_await Inner::run();
            co_return owned.value() + argument.value() + got;
        };
        const int sum = co_await body(passed(3));
        co_return sum;
    }
};

template <class Inner>
struct generic_lambda {
    static task<int> run() {
        auto body = [](auto... arguments) -> task<int> {
            const local here;
            const int got = co_await Inner::run();
            co_return (arguments.value() + ... + got);
        };
        const int sum = co_await body(passed(1), passed(2));
        co_return sum;
    }
};

struct two_parts {
    passed first;
    passed second;
    two_parts(int left, int right) : first(left), second(right) {}
};

template <class Inner>
struct structured_binding {
    static task<two_parts> make() {
        const int got = co_await Inner::run();
        co_return two_parts(got, 2);
    }
    static task<int> run() {
        const auto [first, second] = co_await make();
        const local here;
        const int got = co_await Inner::run();
        co_return first.value() + second.value() + got;
    }
};

template <class Inner>
struct extended_temporary {
    static task<passed> make() {
        co_await Inner::run();
        co_return passed(3);
    }
    static task<int> run() {
        const passed& kept = co_await make();
        const local here;
        co_await Inner::run();
        co_return kept.value();
    }
};

template <class Inner>
struct temporary_in_expression {
    static task<int> run() {
        int sum = passed(4).value() + co_await Inner::run();
        sum += passed(1).value() * co_await Inner::run();
        co_return sum;
    }
};

template <class Inner>
struct value_parameters {
    static task<int> callee(passed first, std::string text, passed second) {
        const local here;
        const int got = co_await Inner::run();
        co_return first.value() + second.value() + static_cast<int>(text.size()) + got;
    }
    static task<int> run() {
        const local outer;
        const int sum =
            co_await callee(passed(1), "a text that is too long to be stored inline", passed(2));
        co_return sum;
    }
};

template <class Inner>
struct member_coroutine {
    class object {
    public:
        task<int> first() {
            const local here;
            const int got = co_await second(passed(2));
            co_return got + member_.value();
        }

    private:
        task<int> second(passed argument) const {
            const int got = co_await Inner::run();
            co_return got + argument.value();
        }
        local member_{5};
    };
    static task<int> run() {
        object made;
        const int sum = co_await made.first();
        co_return sum;
    }
};

template <class Inner>
struct returns_an_await {
    static task<int> run() {
        const local here;
        co_return co_await Inner::run();
    }
};

template <class Inner>
struct arrays_and_containers {
    static task<int> run() {
        const local array[3];
        std::vector<passed> list;
        list.emplace_back(1);
        const auto unique = std::make_unique<passed>(2);
        const auto shared = std::make_shared<passed>(3);
        const int got = co_await Inner::run();
        list.emplace_back(got);
        const local after;
        co_await Inner::run();
        co_return static_cast<int>(list.size()) + array[0].value() + unique->value() +
            shared->value();
    }
};

template <class Inner>
struct task_in_a_variable {
    static task<int> run() {
        const local before;
        task<int> later = Inner::run();
        const local between;
        const int got = co_await std::move(later);
        task<int> never = Inner::run();
        co_await Inner::run();
        never.discard();
        co_return got;
    }
};

template <class Inner>
struct reference_result {
    static task<const local&> pick(const local& given) {
        co_await Inner::run();
        co_return given;
    }
    static task<int> run() {
        const local here(4);
        const local& same = co_await pick(here);
        co_return same.value();
    }
};

// ---- with the library's boundaries -------------------------------------------------------------

template <class Inner>
struct settled {
    static task<int> run() {
        const local here;
        const auto got = co_await weir::settle(Inner::run());
        const local after;
        co_return got.value();
    }
};

template <class Inner>
struct timed {
    static task<int> run() {
        const local here;
        const int got = co_await weir::timeout(std::chrono::seconds(1), Inner::run());
        co_return got;
    }
};

template <class Inner>
struct cleaned_up {
    static task<int> run() {
        const local here;
        auto cleanup = []() -> task<> {
            const passed inside;
            co_await weir::yield();
        };
        const int got = co_await weir::finally(Inner::run(), cleanup);
        co_return got;
    }
};

template <class Inner>
struct grouped {
    static task<int> run() {
        const passed shared;
        auto child = [&shared]() -> task<int> {
            const passed inside;
            co_await weir::yield();
            co_return shared.value() + inside.value();
        };
        auto body = [&child](weir::task_group& group) -> task<int> {
            group.spawn(child);
            const int got = co_await Inner::run();
            co_return got;
        };
        const int got = co_await weir::with_group(body);
        co_return got;
    }
};

}  // namespace constructs
