// SPDX-License-Identifier: MIT
// One pipeline per case; CMakeLists.txt has the expected message of the compiler.
#include <weir/flow/pipeline.hpp>
#include <weir/flow/timeout_policy.hpp>

template <weir::policy_kind Kind>
struct of_kind {
    static constexpr weir::policy_kind kind = Kind;
    template <class Next>
    auto around(weir::call_context& call, Next& next) {
        return next(call);
    }
};
using fallback = of_kind<weir::policy_kind::fallback>;
using retry = of_kind<weir::policy_kind::retry>;
using hedge = of_kind<weir::policy_kind::hedge>;
using breaker = of_kind<weir::policy_kind::circuit_breaker>;
using std::chrono::seconds;

weir::task<int> use() {
#if defined(TWINS)
    weir::pipeline line("line", retry(), breaker(), breaker());
#elif defined(INNER_FALLBACK)
    weir::pipeline line("line", retry(), fallback());
#elif defined(TOTAL_TIMEOUT_IN_RETRY)
    weir::pipeline line("line", retry(), breaker(), weir::total_timeout{seconds(1)});
#elif defined(HEDGE_AROUND_RETRY)
    weir::pipeline line("line", hedge(), breaker(), retry());
#elif defined(EMPTY)
    weir::pipeline line("line");
#else
    weir::pipeline line("line", fallback(), weir::total_timeout{seconds(1)}, retry(), breaker(),
                        hedge(), weir::attempt_timeout{seconds(1)});
#endif
    co_return co_await line.run([] { return 1; });
}
