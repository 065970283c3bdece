// SPDX-License-Identifier: MIT
// An intercepted stop remembers the scope it was aimed at; a repeated request must not hit another
// scope at the same address, so the serial number is compared too. An error of type 'refused'
// becomes a refusal, so that callers handle thrown and returned refusals alike.

#include <weir/detail/cleanup.hpp>
#include <weir/outcome.hpp>

#include <typeinfo>

namespace weir::detail {

stop_origin origin_of(fiber& on, frame* target) noexcept {
    const bool is_fiber = target == static_cast<frame*>(&on);
    return {&on, target, is_fiber ? 0 : static_cast<scope*>(target)->serial};
}

bool ask_again(const stop_origin& origin) noexcept {
    fiber* on = this_thread.running;
    if (on != origin.on) {
        return false;
    }
    if (origin.target == static_cast<frame*>(on)) {
        request_stop_of(*on, on);
        return true;
    }
    for (scope* each = on->scopes; each != nullptr; each = each->outer) {
        if (static_cast<frame*>(each) == origin.target && each->serial == origin.serial) {
            request_stop_of(*on, each);
            return true;
        }
    }
    return false;
}

const refusal* refusal_in(const std::exception_ptr& error) noexcept {
#ifdef __GLIBCXX__
    if (error == nullptr || *error.__cxa_exception_type() != typeid(refused)) {
        return nullptr;  // without the cost of throwing it
    }
#endif
    try {
        std::rethrow_exception(error);
    } catch (const refused& found) {
        return &found.why();  // as long as the error itself
    } catch (...) {
        return nullptr;
    }
}

}  // namespace weir::detail
